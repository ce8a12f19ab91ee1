"""Models from a folder that describes itself in a file `hubconf.py`: its functions without a leading underscore."""

from __future__ import annotations

import builtins
import importlib.util
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .engine import errors

__all__ = ["list", "help", "load", "load_state_dict_from_url"]
FILE = "hubconf.py"


def _description(name: str, repo_dir: str, source: str) -> ModuleType:
    """The module `hubconf` of a folder; its folder can be imported from while it runs."""
    if source not in ("github", "gitee", "local"):
        raise errors.ValueError_(f"{name}: source must be 'github', 'gitee' or 'local', got {source!r}")
    if source != "local":
        raise errors.NotImplemented_(
            f"{name}: source={source!r} (downloading a repository); download it yourself and use source='local'"
        )
    path = os.path.join(repo_dir, FILE)
    if not os.path.isfile(path):
        raise errors.NotFound(f"{name}: there is no file {FILE} in {repo_dir}")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    sys.path.insert(0, repo_dir)
    try:
        spec.loader.exec_module(module)  # type: ignore[union-attr]
    finally:
        sys.path.remove(repo_dir)
    missing = [d for d in getattr(module, "dependencies", []) if importlib.util.find_spec(d) is None]
    if missing:
        raise errors.RuntimeError_(
            f"{name}: the models in {repo_dir} need packages that are not installed: {', '.join(missing)}"
        )
    return module


def _entry(name: str, module: ModuleType, model: str) -> Callable:
    if not isinstance(model, str):
        raise errors.ValueError_(f"{name}: model must be the name of a function, got {errors.describe(model)}")
    found = getattr(module, model, None)
    if not callable(found) or model.startswith("_"):
        raise errors.RuntimeError_(f"{name}: {FILE} has no function {model!r}")
    return found


def list(repo_dir: str, source: str = "github", force_reload: bool = False) -> builtins.list[str]:
    """The names of the models that a folder offers.

    Args:
        repo_dir: path of the folder.
        source: "local"; others need the network and are not built.
        force_reload: of a download.

    Raises:
        ValueError: an unknown source.
        FileNotFoundError: the folder has no hubconf.py.

    Example:
        >>> import os; os.mkdir("repo"); _ = open("repo/hubconf.py", "w").write("def two(): return 2")
        >>> paddle.hub.list("repo", source="local")
        ['two']
    """
    module = _description("list", repo_dir, source)
    return [n for n, value in vars(module).items() if callable(value) and not n.startswith("_")]


def help(repo_dir: str, model: str, source: str = "github", force_reload: bool = False) -> str | None:
    """The documentation of a model, see `list`. RuntimeError when there is no such model."""
    return _entry("help", _description("help", repo_dir, source), model).__doc__


def load(repo_dir: str, model: str, source: str = "github", force_reload: bool = False, **kwargs: Any) -> Any:
    """What a model's function returns for `kwargs`, see `list`. RuntimeError when there is no such model."""
    return _entry("load", _description("load", repo_dir, source), model)(**kwargs)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    check_hash: bool = False,
    file_name: str | None = None,
    map_location: Any = None,
) -> Any:
    """The parameters in a file that is downloaded once and kept.

    Args:
        url: where it lies.
        model_dir: folder to keep it in, by default the cache of the package.
        check_hash: the name of the file ends in the beginning of its hash, which is compared.
        file_name: its name, default that in the url.
        map_location: accepted; tensors lie on the current device.

    Raises:
        RuntimeError: the download fails.
    """
    from .framework.io import load as load_file
    from .utils.download import get_weights_path_from_url

    if model_dir is None and file_name is None and not check_hash:
        return load_file(get_weights_path_from_url(url))
    raise errors.NotImplemented_("load_state_dict_from_url: model_dir, file_name and check_hash")
