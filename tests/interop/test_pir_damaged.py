"""Damaged and hostile `.json` models: a ValueError (or NotImplementedError for an operator that does not exist), nothing
else, and no memory or time to speak of."""

import copy
import json
import os
import random
import sys
import tracemalloc
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import pir_support

from paddle.interop.pir_reader import read_pir_model

MUTATIONS = int(os.environ.get("PIR_MUTATIONS", "2000"))
BATCHES = 8
VALUES = [
    None, True, -1, 0, 1, 2, 7, 10**6, 2**31, 2**62, -(2**62), 10**18, 1e300, -1.5, "", "x", "relu", "1.relu", "float32",
    "int64", [], {}, [1] * 5, [10**9, 10**9], {"%": 1}, {"#": "0.t_f32"}, [-1, -1, -1], "NaN", -2,
]  # fmt: skip
MODELS = [("operators", n) for n in pir_support.names("operators")] + [
    ("networks", n) for n in ("vgg", "control", "gru", "resnet")
]


def paths(tree, path=()):
    yield path
    for key in tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
        yield from paths(tree[key], (*path, key))


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def damage(text: bytes, params: bytes, r: random.Random) -> tuple[bytes, bytes]:
    kind = r.random()
    if kind < 0.15:
        return text[: r.randrange(len(text))], params
    if kind < 0.3:
        data = bytearray(text)
        for _ in range(r.randint(1, 4)):
            data[r.randrange(len(data))] = r.choice(b'0123456789-[]{}",.:abcxyz')
        return bytes(data), params
    if kind < 0.38 and params:
        if r.random() < 0.5:
            return text, params[: r.randrange(len(params))]
        data = bytearray(params)
        for _ in range(r.randint(1, 4)):
            data[r.randrange(min(len(data), 200))] = r.randrange(256)
        return text, bytes(data)
    tree = json.loads(text)
    for _ in range(r.randint(1, 3)):
        known = list(paths(tree))[1:]
        if not known:
            break
        path = r.choice(known)
        owner, choice = at(tree, path[:-1]), r.random()
        if choice < 0.6:
            owner[path[-1]] = copy.deepcopy(r.choice(VALUES))
        elif choice < 0.75:
            del owner[path[-1]]
        elif isinstance(owner[path[-1]], list) and owner[path[-1]]:
            items = owner[path[-1]]
            items.insert(r.randrange(len(items)), copy.deepcopy(r.choice(items)))
        else:
            owner[path[-1]] = copy.deepcopy(at(tree, r.choice(known)))
    return json.dumps(tree).encode(), params


@pytest.mark.parametrize("batch", range(BATCHES))
def test_mutations_end_in_a_clear_error(batch):
    refused = 0
    for seed in range(batch, MUTATIONS, BATCHES):
        r = random.Random(seed)
        kind, name = r.choice(MODELS)
        text, params, _ = pir_support.fixture(kind, name)
        text, params = damage(text, params, r)
        try:
            read_pir_model(text, params)
        except (ValueError, NotImplementedError) as e:
            refused += 1
            assert str(e)
    assert refused > MUTATIONS // BATCHES // 2


def edited(name, change):
    text, params, _ = pir_support.fixture("operators", name)
    tree = json.loads(text)
    change(tree["program"]["regions"][0]["blocks"][0]["ops"])
    return json.dumps(tree).encode(), params


def attribute(op, name):
    return next(a["AT"] for a in op["A"] if a["N"] == name)


def test_huge_constants_are_refused():
    def grow(ops):
        attribute(next(o for o in ops if o["#"] == "1.full"), "shape")["D"] = [10**6, 10**6]

    tracemalloc.start()
    with pytest.raises(ValueError, match="too large"):
        read_pir_model(*edited("full", grow))
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()


def test_huge_inputs_take_no_memory():
    def grow(ops):
        ops[0]["O"][0]["TT"]["D"][1] = [2**40, 2**20]

    with pytest.raises(ValueError):
        read_pir_model(*edited("relu", grow))


def test_many_parts_are_refused():
    def grow(ops):
        ops[0]["O"][0]["TT"]["D"][1] = [2, 10**9]

    with pytest.raises(ValueError, match="parts"):
        read_pir_model(*edited("unbind", grow))


def test_deep_nesting_is_refused():
    with pytest.raises(ValueError):
        read_pir_model(b"[" * 100_000, b"")
    with pytest.raises(ValueError):
        read_pir_model(b'{"a":' * 100_000, b"")


def test_a_value_that_nothing_defines():
    def lose(ops):
        ops[1]["I"] = [{"%": 99}]

    with pytest.raises(ValueError, match="99"):
        read_pir_model(*edited("relu", lose))


@pytest.mark.parametrize("text", [b"", b"\x00", b"{}", b"[]", b"null", b"\xff\xfe", b'{"base_code":{"magic":"pir"}}'])
def test_what_is_no_model(text):
    with pytest.raises(ValueError):
        read_pir_model(text, b"")
