"""Transforms of pictures."""
from . import functional
from .augment import (BrightnessTransform, ColorJitter, ContrastTransform, HueTransform, RandomAffine, RandomErasing,
                      RandomPerspective, SaturationTransform)
from .functional import (adjust_brightness, adjust_contrast, adjust_hue, affine, center_crop, crop, erase, hflip, normalize,
                         pad, perspective, resize, rotate, to_grayscale, to_tensor, vflip)
from .transforms import (
    BaseTransform, CenterCrop, Compose, Grayscale, Normalize, Pad, RandomCrop, RandomHorizontalFlip,
    RandomResizedCrop, RandomRotation, RandomVerticalFlip, Resize, ToTensor, Transpose
)

__all__ = [
    "BaseTransform", "BrightnessTransform", "CenterCrop", "ColorJitter", "Compose", "ContrastTransform", "Grayscale",
    "HueTransform", "Normalize", "Pad", "RandomAffine", "RandomCrop", "RandomErasing", "RandomHorizontalFlip",
    "RandomPerspective", "RandomResizedCrop", "RandomRotation", "RandomVerticalFlip", "Resize", "SaturationTransform",
    "ToTensor", "Transpose", "adjust_brightness", "adjust_contrast", "adjust_hue", "affine", "center_crop", "crop",
    "erase", "hflip", "normalize", "pad", "perspective", "resize", "rotate", "to_grayscale", "to_tensor", "vflip"
]
