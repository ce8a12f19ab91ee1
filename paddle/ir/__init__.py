"""The intermediate representation: programs of operators, how they are built, run, printed, changed and kept."""
