"""Layers whose parameters are divided over processes."""
