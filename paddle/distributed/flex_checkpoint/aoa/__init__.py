"""States whose tensors have other names, orders, shapes or types than those of a checkpoint."""
