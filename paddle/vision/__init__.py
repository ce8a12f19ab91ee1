"""Pictures: datasets, transforms, networks."""

from . import datasets, image, models, ops, transforms, zoo
from .datasets import MNIST, VOC2012, Cifar10, Cifar100, DatasetFolder, FashionMNIST, Flowers, ImageFolder
from .image import get_image_backend, image_load, set_image_backend
from .models import *
from .transforms import (
    adjust_brightness,
    adjust_contrast,
    adjust_hue,
    center_crop,
    crop,
    hflip,
    normalize,
    pad,
    resize,
    rotate,
    to_grayscale,
    to_tensor,
    vflip,
)
from .zoo import create_model, list_models

__all__ = ["set_image_backend", "get_image_backend", "image_load"]
