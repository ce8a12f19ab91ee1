"""Layers whose parameters are divided over the processes of a group."""
