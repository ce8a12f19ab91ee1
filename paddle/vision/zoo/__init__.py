"""A library of networks by name: `list_models()`, `create_model(name)`."""

from . import convnext, dla, ghostnet, hrnet, levit, mlp, mobile, official, pphgnet, pplcnet, pvt, regnet, repvgg, resnet, swin, tnt, vit
from .registry import create_model, list_models

__all__ = ["list_models", "create_model"]
