"""The folder of models: which there are, in which versions, and where their files lie.

    models/
        digits/
            serving.json            options of the model, optional
            1/  model.pdmodel  model.pdiparams
            2/  model.json     model.pdiparams
        words/
            1/  ...

A folder that holds one model directly, or the beginning of its files' names as given to `paddle.jit.save`, is served as
version 1. An address such as `s3://bucket/models` is copied into a folder of this machine first.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..engine import errors
from ..utils import storage
from .options import ModelOptions, model_options

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}")
_VERSION = "[1-9][0-9]{0,17}"
_PROGRAMS = (".pdmodel", ".json")


class Found(NamedTuple):
    """One version of a model."""

    name: str
    version: int
    program: str
    params: str
    options: ModelOptions


def find(path: Any, defaults: dict[str, Any] | None = None) -> list[Found]:
    """The models in a folder, ordered by name and version.

    Args:
        path: a repository, the folder of one model, or the beginning of the names of its files.
        defaults: options that a model's `serving.json` does not give.

    Raises:
        FileNotFoundError: there is no model.
        ValueError: a name that cannot be part of an address, files of which it is not clear which are the model, options
            that are wrong.

    Example:
        >>> paddle.jit.save(paddle.nn.Linear(2, 3), "models/small/1/model", [paddle.static.InputSpec([None, 2])])
        >>> [(m.name, m.version) for m in paddle.serving.find("models")]
        [('small', 1)]
    """
    path, defaults = storage.local(os.fspath(path)), defaults or {}
    if not os.path.isdir(path):
        folder, start = os.path.split(path)
        if start and (files := _files(folder or ".", start)):
            return [Found(_checked(start), 1, *files, _options(folder or ".", defaults))]
        raise errors.NotFound(
            f"serving: {path!r} is neither a folder nor the beginning of the names of a model's files"
        )
    if files := _files(path):
        name = os.path.basename(os.path.abspath(path))
        return [Found(_checked(name), 1, *files, _options(path, defaults))]
    if _versions(path):
        return list(_model(path, os.path.basename(os.path.abspath(path)), defaults))
    found: list[Found] = []
    for name in sorted(os.listdir(path)):
        if not name.startswith((".", "_")) and os.path.isdir(os.path.join(path, name)):
            found += _model(os.path.join(path, name), name, defaults)
    if not found:
        raise errors.NotFound(
            f"serving: the folder {path!r} holds no model: neither files NAME.pdmodel (or .json) and NAME.pdiparams, nor "
            "folders MODEL/VERSION with them"
        )
    return found


def publish(prefix: Any, repository: Any, name: str) -> int:
    """Put a saved model into a repository as its next version; it is seen there when all of it is there.

    Args:
        prefix: the beginning of the names of its files, as given to `paddle.jit.save`.
        repository: a folder, or an address such as `s3://bucket/models`.
        name: of the model.

    Returns:
        the number of the version.

    Raises:
        FileNotFoundError: there are no such files.
        ValueError: a name that cannot be part of an address.

    Example:
        >>> paddle.jit.save(paddle.nn.Linear(2, 3), "made/model", [paddle.static.InputSpec([None, 2])])
        >>> paddle.serving.publish("made/model", "models", "made"), paddle.serving.publish("made/model", "models", "made")
        (1, 2)
    """
    folder, start = os.path.split(os.fspath(prefix))
    files = _files(folder or ".", start)
    if not files:
        raise errors.NotFound(f"publish: there are no files {os.fspath(prefix)!r}.pdmodel (or .json) and .pdiparams")
    place = storage.join(repository, _checked(name))
    there = storage.folders(place) if storage.is_folder(place) else []
    version = 1 + max((int(n) for n in there if re.fullmatch(_VERSION, n)), default=0)
    endings = [os.path.splitext(f)[1] for f in files]
    if storage.is_remote(place):
        for source, ending in reversed(list(zip(files, endings))):  # the program last: a version needs both
            with (
                storage.uploaded(storage.join(place, str(version), "model" + ending)) as target,
                open(source, "rb") as f,
            ):
                shutil.copyfileobj(f, target)
        return version
    os.makedirs(place, exist_ok=True)
    made = tempfile.mkdtemp(prefix=".new-", dir=place)
    try:
        for source, ending in zip(files, endings):
            shutil.copyfile(source, os.path.join(made, "model" + ending))
        os.chmod(made, 0o755)
        while True:
            try:
                os.rename(made, os.path.join(place, str(version)))
                return version
            except OSError as e:
                if e.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                    raise
                version += 1  # somebody else was faster
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def listing(path: Any) -> list[tuple[str, int, int]]:
    """The files of a folder with their times and sizes, to see whether anything changed; also of an address."""
    if storage.is_remote(path):
        system, inner = storage._system(path)
        system.invalidate_cache()
        return sorted((n, hash(system.ukey(n)), i.get("size") or 0) for n, i in system.find(inner, detail=True).items())
    found = []
    for name in storage.files(path) if os.path.isdir(path) else []:
        with contextlib.suppress(OSError):
            status = os.stat(name)
            found.append((name, status.st_mtime_ns, status.st_size))
    return sorted(found)


@contextlib.contextmanager
def here(path: Any) -> Iterator[str]:
    """The folder on this machine: a copy, as long as the block runs, where `path` is an address elsewhere."""
    if not storage.is_remote(path):
        yield storage.local(os.fspath(path))
        return
    folder = tempfile.mkdtemp(prefix="paddle-serving-")
    try:
        for name in storage.files(path):
            target = os.path.join(folder, name[len(path.rstrip("/")) + 1 :])
            if os.path.commonpath([folder, os.path.abspath(target)]) != folder:
                raise errors.ValueError_(f"serving: {name!r} would lie outside of the folder")
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with storage.opened(name) as source, open(target, "wb") as file:
                shutil.copyfileobj(source, file)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _versions(folder: str) -> list[int]:
    """The numbers of its versions: folders with a number as their name that hold all files of a model."""
    names = [n for n in os.listdir(folder) if re.fullmatch(_VERSION, n)]
    return sorted(int(n) for n in names if os.path.isdir(os.path.join(folder, n)) and _files(os.path.join(folder, n)))


def _model(folder: str, name: str, defaults: dict[str, Any]) -> Iterator[Found]:
    options, versions = _options(folder, defaults), _versions(folder)
    if not versions and (files := _files(folder)):
        yield Found(_checked(name), 1, *files, options)
        return
    if options.versions == "latest":
        versions = versions[-1:]
    elif options.versions != "all":
        if missing := sorted(set(options.versions) - set(versions)):
            raise errors.NotFound(f"serving: the model {name!r} has no version {missing[0]}; it has {versions}")
        versions = [v for v in versions if v in options.versions]
    for version in versions:
        program, params = _files(os.path.join(folder, str(version)))
        yield Found(_checked(name), version, program, params, options)


def _files(folder: str, start: str | None = None) -> tuple[str, str] | tuple[()]:
    """The program and the parameters in a folder, () where there are none; those that begin with `start` alone."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    pairs = [
        (n, stem + ".pdiparams")
        for ending in _PROGRAMS
        for n in sorted(names)
        if n.endswith(ending) and (stem := n[: -len(ending)]) + ".pdiparams" in names and start in (None, stem)
    ]
    stems = {params for _, params in pairs}
    if len(stems) > 1:
        raise errors.ValueError_(
            f"serving: {folder!r} holds several models, {', '.join(sorted(stems))}; one was expected"
        )
    if not pairs and start is None and {"__model__", "__params__"} <= set(names):
        pairs = [("__model__", "__params__")]
    return (os.path.join(folder, pairs[0][0]), os.path.join(folder, pairs[0][1])) if pairs else ()


def _options(folder: str, defaults: dict[str, Any]) -> ModelOptions:
    path = os.path.join(folder, "serving.json")
    text = None
    with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
        text = file.read()
    return model_options(text, defaults, path)


def _checked(name: str) -> str:
    if not NAME.fullmatch(name):
        raise errors.ValueError_(
            f"serving: {name!r} cannot be the name of a model: letters, digits, '_', '.' and '-', 64 at most, are allowed"
        )
    return name
