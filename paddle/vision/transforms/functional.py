"""All transforms of one picture as functions, under the official name of the module."""

from .basic import center_crop, crop, hflip, normalize, pad, resize, to_grayscale, to_tensor, vflip
from .color import adjust_brightness, adjust_contrast, adjust_hue, adjust_saturation, erase
from .warp import affine, perspective, rotate

__all__ = [
    "to_tensor",
    "hflip",
    "vflip",
    "resize",
    "pad",
    "affine",
    "rotate",
    "perspective",
    "to_grayscale",
    "crop",
    "center_crop",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_hue",
    "adjust_saturation",
    "normalize",
    "erase",
]
