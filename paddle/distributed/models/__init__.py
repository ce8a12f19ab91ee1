"""Helpers for models that are spread over processes."""
