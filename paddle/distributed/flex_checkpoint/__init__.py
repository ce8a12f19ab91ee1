"""Checkpoints of distributed jobs, under the official names of the modules."""
