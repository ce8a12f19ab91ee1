"""Starts the processes of a job: ``python -m paddle.distributed.launch [options] script.py [arguments]``."""
