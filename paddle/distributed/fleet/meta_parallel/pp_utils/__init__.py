"""What pipeline parallelism is made of: orders of work, transfers, micro-batches."""
