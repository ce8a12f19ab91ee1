"""ESC-50: environmental sounds (Piczak, 2015)."""

from __future__ import annotations

import collections
import csv
import os
from typing import Any

from ...engine import errors
from .dataset import AudioClassificationDataset, fold_of, unpacked

__all__ = ["ESC50"]


class ESC50(AudioClassificationDataset):
    """2000 recordings of 5 seconds in 50 classes, in 5 folds.

    Args:
        mode: "train" takes all folds but one, anything else ("dev") that one.
        split: the number of that fold, 1 to 5.
        feat_type: "raw", "spectrogram", "melspectrogram", "logmelspectrogram" or "mfcc".
        archive: a dict with "url" and "md5" of another archive.
        kwargs: for the layer of the feature in `paddle.audio.features`.

    The files are those in `$PADDLE_HOME/dataset/ESC-50-master`; when they are not there, the archive beside is unpacked,
    which is downloaded when it is not there either.

    Raises:
        RuntimeError: the archive is missing and cannot be downloaded (the message says where to put it); an unknown
            feat_type.
        ValueError: another split; a file that is not this archive.

    Example:
        >>> data = paddle.audio.datasets.ESC50(mode="dev", feat_type="mfcc")  # doctest: +SKIP
    """

    archive = {
        "url": "https://paddleaudio.bj.bcebos.com/datasets/ESC-50-master.zip",
        "md5": "7771e4b9d86d0945acce719c7a59305a",
    }
    # fmt: off
    label_list = [
        "Dog", "Rooster", "Pig", "Cow", "Frog", "Cat", "Hen", "Insects (flying)", "Sheep", "Crow",
        "Rain", "Sea waves", "Crackling fire", "Crickets", "Chirping birds", "Water drops", "Wind", "Pouring water",
        "Toilet flush", "Thunderstorm",
        "Crying baby", "Sneezing", "Clapping", "Breathing", "Coughing", "Footsteps", "Laughing", "Brushing teeth",
        "Snoring", "Drinking, sipping",
        "Door knock", "Mouse click", "Keyboard typing", "Door, wood creaks", "Can opening", "Washing machine",
        "Vacuum cleaner", "Clock alarm", "Clock tick", "Glass breaking",
        "Helicopter", "Chainsaw", "Siren", "Car horn", "Engine", "Train", "Church bells", "Airplane", "Fireworks",
        "Hand saw",
    ]
    # fmt: on
    meta = "ESC-50-master/meta/esc50.csv"
    audio_path = "ESC-50-master/audio"
    meta_info = collections.namedtuple(
        "META_INFO", ("filename", "fold", "target", "category", "esc10", "src_file", "take")
    )

    def __init__(
        self,
        mode: str = "train",
        split: int = 1,
        feat_type: str = "raw",
        archive: dict | None = None,
        **kwargs: Any,
    ):
        split = fold_of("ESC50", split, 5)
        home = unpacked(archive or self.archive, [self.meta, self.audio_path])
        chosen = [s for s in self._table(os.path.join(home, self.meta)) if (int(s.fold) != split) == (mode == "train")]
        files = [os.path.join(home, self.audio_path, s.filename) for s in chosen]
        super().__init__(files, [int(s.target) for s in chosen], feat_type, **kwargs)

    def _table(self, path: str) -> list:
        try:
            with open(path, newline="", encoding="utf-8") as f:
                rows = [self.meta_info(*row) for row in list(csv.reader(f))[1:]]
            return [s for s in rows if int(s.fold) and int(s.target) >= 0]
        except (TypeError, ValueError) as e:
            raise errors.ValueError_(f"{path} is not the table of ESC-50 ({e})") from None
