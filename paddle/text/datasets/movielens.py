"""MovieLens 1M: ratings of films (Harper, Konstan, 2015)."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...engine import errors
from ...io import Dataset
from ...vision.datasets.archive import mode_of, opened_zip
from .source import file_of, numbered

__all__ = ["Movielens"]

_AGES = [1, 18, 25, 35, 45, 50, 56]
_YEAR = re.compile(r"^(.*)\((\d+)\)$")


@dataclass
class MovieInfo:
    """A film: its number, categories and title."""

    index: int
    categories: list[str]
    title: str

    def value(self, categories_dict: dict, movie_title_dict: dict) -> list:
        """The number, and those of its categories and of the words of its title."""
        return [
            [self.index],
            [categories_dict[c] for c in self.categories],
            [movie_title_dict[w.lower()] for w in self.title.split()],
        ]


@dataclass
class UserInfo:
    """A user: number, sex, class of age and number of the job."""

    index: int
    is_male: bool
    age: int
    job_id: int

    def value(self) -> list:
        """Number, 0 for men and 1 for women, class of age, job."""
        return [[self.index], [0 if self.is_male else 1], [self.age], [self.job_id]]


class Movielens(Dataset):
    """Ratings: sample i is (user, sex, class of age, job, film, categories, words of the title, rating), each an array
    with one dimension. Ratings of 1 to 5 stars lie in [-3, 5], at steps of 2.

    Args:
        data_file: the archive `ml-1m.zip`; default the one in `$PADDLE_HOME/dataset/movielens`, which is downloaded when
            it is not there.
        mode: "train" or "test".
        test_ratio: the part of the ratings that is kept for tests.
        rand_seed: of the choice of that part.
        download: False forbids the network.

    Raises:
        RuntimeError: the file is missing and cannot be downloaded; the message says where to put it.
        ValueError: another mode; a file that is not this archive, or is damaged.

    Example:
        >>> data = paddle.text.Movielens("ml-1m.zip", mode="test")  # doctest: +SKIP
    """

    _url = "https://dataset.bj.bcebos.com/movielens%2Fml-1m.zip"
    _md5 = "c4d9eecfca2ab87c1945afe126590906"

    def __init__(
        self,
        data_file: str | None = None,
        mode: str = "train",
        test_ratio: float = 0.1,
        rand_seed: int = 0,
        download: bool = True,
    ):
        self.mode = mode_of("Movielens", mode, ("train", "test"))
        if not 0 <= test_ratio <= 1:
            raise errors.ValueError_(f"Movielens: test_ratio must be in [0, 1], got {test_ratio}")
        self.data_file = file_of(data_file, self._url, "movielens", self._md5, download)
        self.test_ratio, self.rand_seed = test_ratio, rand_seed
        with opened_zip(self.data_file) as archive:
            try:
                self._load(archive)
            except (KeyError, ValueError, IndexError) as e:
                raise errors.ValueError_(
                    f"{self.data_file} is not the archive of Movielens, or it is damaged ({e})"
                ) from None

    def _load(self, archive: zipfile.ZipFile) -> None:
        self.movie_info: dict[int, MovieInfo] = {}
        for index, title, categories in _rows(archive, "movies", 3):
            named = _YEAR.match(title)
            self.movie_info[int(index)] = MovieInfo(int(index), categories.split("|"), named[1] if named else title)
        films = self.movie_info.values()
        self.movie_title_dict = numbered(sorted({w.lower() for film in films for w in film.title.split()}))
        self.categories_dict = numbered(sorted({c for film in films for c in film.categories}))
        self.user_info: dict[int, UserInfo] = {}
        for index, sex, age, job, _ in _rows(archive, "users", 5):
            self.user_info[int(index)] = UserInfo(int(index), sex == "M", _AGES.index(int(age)), int(job))
        random = np.random.RandomState(self.rand_seed)
        self.data = []
        for user, film, stars, _ in _rows(archive, "ratings", 4):
            if (random.random_sample() < self.test_ratio) == (self.mode == "test"):
                known = self.movie_info[int(film)].value(self.categories_dict, self.movie_title_dict)
                self.data.append([*self.user_info[int(user)].value(), *known, [float(stars) * 2 - 5.0]])

    def __getitem__(self, idx: int) -> tuple[np.ndarray, ...]:
        return tuple(np.array(field) for field in self.data[idx])

    def __len__(self) -> int:
        return len(self.data)


def _rows(archive: zipfile.ZipFile, name: str, fields: int) -> Iterator[list[str]]:
    for line in archive.read(f"ml-1m/{name}.dat").decode("latin1").splitlines():
        row = line.strip().split("::")
        if len(row) != fields:
            raise ValueError(f"a line of {name}.dat is {line[:60]!r}")
        yield row
