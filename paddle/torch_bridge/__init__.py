"""PyTorch beside paddle: weights of PyTorch models in layers. PyTorch is optional and imported only where it is used."""

from .weights import LoadReport, load_torch_state_dict

__all__ = ["LoadReport", "load_torch_state_dict"]
