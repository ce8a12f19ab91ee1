"""The shape of the house: imports only go down, files stay readable, public names are documented."""

import ast
import importlib
import inspect
import subprocess
import sys
import types
from pathlib import Path

import pytest

import paddle
from paddle.engine.executable import Kernel
from paddle.engine.op import registry

ROOT = Path(paddle.__file__).parent
FLOORS = ["engine", "ir", "ops", "nn"]  # below everything else, in this order
FILES = sorted(ROOT.rglob("*.py"))


def imported(path):
    """The parts of paddle that a file imports when it is imported itself (not inside functions)."""
    package = ("paddle", *path.relative_to(ROOT).parent.parts)
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            names = [(*base, *node.module.split("."))] if node.module else [(*base, alias.name) for alias in node.names]
            yield from names


def floor(parts):
    return FLOORS.index(parts[1]) if len(parts) > 1 and parts[1] in FLOORS else len(FLOORS)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_only_go_down(path):
    here = floor(("paddle", *path.relative_to(ROOT).parts))
    if here == len(FLOORS):
        return
    for parts in imported(path):
        target = floor(parts)
        # small leaves without imports of their own upward may be used from anywhere
        if target == len(FLOORS) and parts[1:2] in (("utils",), ("regularizer",), ("version",)):
            continue
        assert target <= here, f"{path.relative_to(ROOT)} imports {'.'.join(parts)}, which lies above it"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_stay_readable(path):
    assert len(path.read_text().splitlines()) <= 800


def test_modules_take_from_each_other_only_what_is_there():
    missing = []
    for path in FILES:
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        if parts[-1] == "__main__":
            continue
        module = importlib.import_module(".".join(p for p in parts if p != "__init__"))
        nodes = list(ast.walk(ast.parse(path.read_text())))
        local = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        local |= {n.arg for n in nodes if isinstance(n, ast.arg)}
        for node in nodes:
            if not (isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)):
                continue
            if isinstance(node.value, ast.Name) and node.value.id not in local:
                owner = vars(module).get(node.value.id)
                if isinstance(owner, types.ModuleType) and not hasattr(owner, node.attr):
                    missing.append(f"{path}:{node.lineno}: {node.value.id}.{node.attr}")
    assert not missing


def test_every_operator_is_one_kernel_with_a_documented_face():
    assert len(registry) > 300
    for name, op in registry.items():
        assert isinstance(op, Kernel) and op.name == name


MODULES = [
    "paddle",
    "paddle.nn",
    "paddle.nn.functional",
    "paddle.optimizer",
    "paddle.optimizer.lr",
    "paddle.io",
    "paddle.metric",
    "paddle.autograd",
    "paddle.linalg",
    "paddle.vision.transforms",
]


@pytest.mark.parametrize("name", MODULES)
def test_public_names_are_documented(name):
    module = sys.modules[name]
    missing = [
        n
        for n, value in vars(module).items()
        if not n.startswith("_")
        and (inspect.isfunction(value) or inspect.isclass(value))
        and (value.__module__ or "").startswith("paddle")
        and not inspect.getdoc(value)
    ]
    assert not missing


def test_import_brings_no_heavy_package():
    code = (
        "import sys, paddle; heavy = [m for m in ('PIL', 'scipy', 'sklearn', 'tqdm', 'safetensors', 'torch', 'onnx') "
        "if m in sys.modules]; print(heavy)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT.parent)
    assert out.stdout.strip() == "[]", out.stdout + out.stderr
