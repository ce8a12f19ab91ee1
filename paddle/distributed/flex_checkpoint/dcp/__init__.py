"""Checkpoints in parts: each process writes what it has, and a file of metadata tells how the parts make up tensors."""
