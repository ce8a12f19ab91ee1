"""A dataset of files of sound with classes."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any

from ...engine import errors
from ...engine.tensor import Tensor
from ...io import Dataset
from ...utils.download import cache_home, cached_file
from ...vision.datasets.archive import opened_zip
from ..backends.wave_backend import load
from ..features import MFCC, LogMelSpectrogram, MelSpectrogram, Spectrogram

_FEATURES = {
    "raw": None,
    "melspectrogram": MelSpectrogram,
    "mfcc": MFCC,
    "logmelspectrogram": LogMelSpectrogram,
    "spectrogram": Spectrogram,
}


class AudioClassificationDataset(Dataset):
    """Files of sound with their classes: sample i is (the wave or a feature of it, the class).

    Args:
        files: their paths.
        labels: as many classes.
        feat_type: "raw", "spectrogram", "melspectrogram", "logmelspectrogram" or "mfcc".
        sample_rate: of the features; default that of each file.
        kwargs: for the layer of the feature in `paddle.audio.features`.

    Raises:
        RuntimeError: an unknown feat_type.
    """

    def __init__(
        self,
        files: list[str],
        labels: list[int],
        feat_type: str = "raw",
        sample_rate: int | None = None,
        **kwargs: Any,
    ):
        if feat_type not in _FEATURES:
            raise errors.RuntimeError_(f"feat_type must be one of {', '.join(_FEATURES)}, got {feat_type!r}")
        self.files, self.labels, self.feat_type = files, labels, feat_type
        self.sample_rate, self.feat_config = sample_rate, kwargs
        self._layers: dict[int, Any] = {}

    def _features(self, rate: int) -> Any:
        if rate not in self._layers:
            config = {"sr": rate} if self.feat_type != "spectrogram" else {}
            self._layers[rate] = _FEATURES[self.feat_type](**{**config, **self.feat_config})
        return self._layers[rate]

    def __getitem__(self, idx: int) -> tuple[Tensor, int]:
        wave, rate = load(self.files[idx])
        wave = wave[0]
        if self.feat_type != "raw":
            wave = self._features(self.sample_rate or rate)(wave)
        return wave, self.labels[idx]

    def __len__(self) -> int:
        return len(self.files)


def unpacked(archive: dict, needed: list[str]) -> str:
    """The folder `$PADDLE_HOME/dataset`, in which the paths `needed` are there: unpacked from an archive, once."""
    home = os.path.join(cache_home(), "dataset")
    if all(os.path.exists(os.path.join(home, path)) for path in needed):
        return home
    packed = cached_file(archive["url"], "dataset", archive.get("md5"))
    top = needed[0].split("/")[0]
    scratch = tempfile.mkdtemp(dir=home)
    try:
        with opened_zip(packed) as files:
            files.extractall(scratch)
        missing = [path for path in needed if not os.path.exists(os.path.join(scratch, path))]
        if missing:
            raise errors.ValueError_(f"{packed} is not the archive of this dataset: there is no {missing[0]} in it")
        shutil.rmtree(os.path.join(home, top), ignore_errors=True)
        os.replace(os.path.join(scratch, top), os.path.join(home, top))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return home


def fold_of(name: str, split: Any, folds: int) -> int:
    """The number of a fold. ValueError for one that is not there."""
    if isinstance(split, bool) or not isinstance(split, int) or not 1 <= split <= folds:
        raise errors.ValueError_(f"{name}: split must be an integer from 1 to {folds}, got {split!r}")
    return split
