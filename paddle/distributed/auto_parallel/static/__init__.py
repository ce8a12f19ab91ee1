"""Training on a mesh by an Engine."""
