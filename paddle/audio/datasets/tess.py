"""TESS: the Toronto emotional speech set (Pichora-Fuller, Dupuis, 2020)."""

from __future__ import annotations

import collections
import os
from typing import Any

from ...engine import errors
from .dataset import AudioClassificationDataset, fold_of, unpacked

__all__ = ["TESS"]


class TESS(AudioClassificationDataset):
    """2800 recordings of two speakers that say 200 words with seven emotions.

    Args:
        mode: "train" takes all folds but one, anything else ("dev") that one.
        n_folds: how many folds the files are dealt into, in the order of their paths.
        split: the number of that fold, from 1.
        feat_type: "raw", "spectrogram", "melspectrogram", "logmelspectrogram" or "mfcc".
        archive: a dict with "url" and "md5" of another archive.
        kwargs: for the layer of the feature in `paddle.audio.features`.

    The files are those in `$PADDLE_HOME/dataset/TESS_Toronto_emotional_speech_set`; when they are not there, the archive
    beside is unpacked, which is downloaded when it is not there either.

    Raises:
        RuntimeError: the archive is missing and cannot be downloaded (the message says where to put it); an unknown
            feat_type.
        ValueError: n_folds below 1, another split; a file that is not this archive.

    Example:
        >>> data = paddle.audio.datasets.TESS(mode="dev")  # doctest: +SKIP
    """

    archive = {
        "url": "https://bj.bcebos.com/paddleaudio/datasets/TESS_Toronto_emotional_speech_set.zip",
        "md5": "1465311b24d1de704c4c63e4ccc470c7",
    }
    label_list = ["angry", "disgust", "fear", "happy", "neutral", "ps", "sad"]  # ps: pleasant surprise
    meta_info = collections.namedtuple("META_INFO", ("speaker", "word", "emotion"))
    audio_path = "TESS_Toronto_emotional_speech_set"

    def __init__(
        self,
        mode: str = "train",
        n_folds: int = 5,
        split: int = 1,
        feat_type: str = "raw",
        archive: dict | None = None,
        **kwargs: Any,
    ):
        if isinstance(n_folds, bool) or not isinstance(n_folds, int) or n_folds < 1:
            raise errors.ValueError_(f"TESS: n_folds must be a positive integer, got {n_folds!r}")
        split = fold_of("TESS", split, n_folds)
        home = unpacked(archive or self.archive, [self.audio_path])
        found = sorted(
            os.path.join(folder, name)
            for folder, _, names in os.walk(os.path.join(home, self.audio_path))
            for name in names
            if name.endswith(".wav")
        )
        files = [f for i, f in enumerate(found) if (i % n_folds + 1 != split) == (mode == "train")]
        super().__init__(files, [self._label(f) for f in files], feat_type, **kwargs)

    def _label(self, path: str) -> int:
        parts = os.path.basename(path)[: -len(".wav")].split("_")
        if len(parts) != 3 or parts[2] not in self.label_list:
            raise errors.ValueError_(f"TESS: {path} is not named speaker_word_emotion.wav")
        return self.label_list.index(self.meta_info(*parts).emotion)
