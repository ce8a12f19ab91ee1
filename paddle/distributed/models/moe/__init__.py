"""Helpers for mixtures of experts."""
