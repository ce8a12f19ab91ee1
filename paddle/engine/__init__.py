"""The engine: tensors, operators, the tape, and the compiler underneath. Nothing here knows a concrete operator."""
