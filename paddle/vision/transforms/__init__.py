"""Transforms of pictures."""
from . import functional
from .functional import center_crop, crop, hflip, normalize, pad, resize, rotate, to_grayscale, to_tensor, vflip
from .transforms import (BaseTransform, CenterCrop, Compose, Grayscale, Normalize, Pad, RandomCrop, RandomHorizontalFlip,
                         RandomResizedCrop, RandomRotation, RandomVerticalFlip, Resize, ToTensor, Transpose)

__all__ = ["BaseTransform", "CenterCrop", "Compose", "Grayscale", "Normalize", "Pad", "RandomCrop", "RandomHorizontalFlip",
           "RandomResizedCrop", "RandomRotation", "RandomVerticalFlip", "Resize", "ToTensor", "Transpose", "center_crop", "crop",
           "hflip", "normalize", "pad", "resize", "rotate", "to_grayscale", "to_tensor", "vflip"]
