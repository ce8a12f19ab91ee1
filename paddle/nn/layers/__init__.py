"""Layer classes, one file a family."""
