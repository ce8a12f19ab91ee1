"""Training of which each process keeps a part: of the optimizer's state, of the gradients, of the parameters."""
