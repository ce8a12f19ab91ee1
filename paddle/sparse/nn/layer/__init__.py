"""Layers for sparse tensors."""
