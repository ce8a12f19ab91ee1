"""Pictures in folders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...engine import errors
from ...engine.dtype import default_dtype
from ...io import Dataset
from ...utils import storage
from ..image import get_image_backend, image_load, named

__all__ = ["DatasetFolder", "ImageFolder"]

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def default_loader(path: str) -> Any:
    """A picture in colours: an array as OpenCV would read it with the image backend "cv2", a Pillow image otherwise."""
    if get_image_backend() == "cv2":
        return image_load(path, "cv2")
    with named(path), image_load(path, "pil") as image:
        return image.convert("RGB")


def _filter(extensions: Any, is_valid_file: Callable | None) -> tuple[Any, Callable]:
    """The extensions that count, and the function that says whether a file does."""
    if extensions is None and is_valid_file is not None:
        return None, is_valid_file
    allowed = IMG_EXTENSIONS if extensions is None else extensions
    listed = (allowed,) if isinstance(allowed, str) else allowed
    if not isinstance(listed, (list, tuple)) or not all(isinstance(ending, str) for ending in listed):
        raise errors.TypeError_(f"extensions must be a list of str, got {errors.describe(extensions)}")
    endings = tuple(ending.lower() for ending in listed)
    return listed, lambda path: path.lower().endswith(endings)


def _nothing(name: str, what: str, root: str, extensions: Any) -> RuntimeError:
    rest = "" if extensions is None else f"; files end in {', '.join(extensions)}"
    return errors.RuntimeError_(f"{name}: there are no {what} in {root}{rest}")


class DatasetFolder(Dataset):
    """Files in a folder for each class: `root/class/.../file`.

    Args:
        root: the folder of the classes, here or in object storage ("s3://bucket/folder", through the package fsspec).
        loader: makes a sample of a path; default: a picture in colours, by the image backend.
        extensions: endings of the files that count; default those of pictures.
        transform: applied to each sample.
        is_valid_file: tells by the path whether a file counts, instead of extensions.

    Returns:
        pairs of a sample and the number of its class.

    Raises:
        FileNotFoundError: no such folder.
        RuntimeError: no classes, or no file that counts.

    Example:
        >>> data = paddle.vision.datasets.DatasetFolder("pictures")  # doctest: +SKIP
        >>> data.classes, len(data)  # doctest: +SKIP
        (['cat', 'dog'], 200)
    """

    def __init__(
        self,
        root: str,
        loader: Callable | None = None,
        extensions: Any = None,
        transform: Callable | None = None,
        is_valid_file: Callable | None = None,
    ):
        self.root = root
        self.transform = transform
        self.loader = default_loader if loader is None else loader
        self.extensions, valid = _filter(extensions, is_valid_file)
        if not storage.is_folder(root):
            raise errors.NotFound(f"DatasetFolder: there is no folder {root}")
        self.classes = storage.folders(root)
        self.class_to_idx = {name: k for k, name in enumerate(self.classes)}
        self.samples = [
            (path, k)
            for name, k in self.class_to_idx.items()
            for path in filter(valid, storage.files(storage.join(root, name)))
        ]
        if not self.samples:
            raise _nothing("DatasetFolder", "files in folders of classes", root, self.extensions)
        self.targets = [k for _, k in self.samples]
        self.dtype = default_dtype().name

    def __getitem__(self, index: int) -> tuple[Any, int]:
        path, target = self.samples[index]
        sample = self.loader(path)
        return (sample if self.transform is None else self.transform(sample)), target

    def __len__(self) -> int:
        return len(self.samples)


class ImageFolder(Dataset):
    """Files in a folder and the folders in it, without classes; arguments and errors as for `DatasetFolder`.

    Returns:
        lists of one sample.

    Example:
        >>> [picture] = paddle.vision.datasets.ImageFolder("pictures")[0]  # doctest: +SKIP
    """

    def __init__(
        self,
        root: str,
        loader: Callable | None = None,
        extensions: Any = None,
        transform: Callable | None = None,
        is_valid_file: Callable | None = None,
    ):
        self.root = root
        self.transform = transform
        self.loader = default_loader if loader is None else loader
        self.extensions, valid = _filter(extensions, is_valid_file)
        self.samples = list(filter(valid, storage.files(root)))
        if not self.samples:
            raise _nothing("ImageFolder", "files", root, self.extensions)

    def __getitem__(self, index: int) -> list[Any]:
        sample = self.loader(self.samples[index])
        return [sample if self.transform is None else self.transform(sample)]

    def __len__(self) -> int:
        return len(self.samples)
