"""PyTorch beside paddle: weights of PyTorch models in layers. PyTorch is optional and imported only where it is used."""

from .models import convert_model, to_torch
from .weights import LoadReport, load_torch_state_dict

__all__ = ["LoadReport", "convert_model", "load_torch_state_dict", "to_torch"]
