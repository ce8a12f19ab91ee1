"""Saves the small programs of `pir_cases` with the official package: run it there, from any other directory.

python tests/interop/make_pir_fixtures.py tests/interop/pir_fixtures [name ...]
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
import zipfile

import numpy as np

import paddle

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pir_cases
import pir_networks


def flat(out) -> list:
    if isinstance(out, (list, tuple)):
        return [y for x in out for y in flat(x)]
    return [out]


def save(case: tuple, folder: str) -> tuple[bytes, bytes, dict]:
    name, function, *inputs = case
    main, startup = paddle.static.Program(), paddle.static.Program()
    arrays = [pir_cases.make(text, i) for i, text in enumerate(inputs)]
    executor = paddle.static.Executor(paddle.CPUPlace())
    with paddle.static.program_guard(main, startup):
        feeds = [
            paddle.static.data(f"x{i}", pir_cases.describe(text)[1], pir_cases.DTYPES[text[0]])
            for i, text in enumerate(inputs)
        ]
        fetches = flat(function(paddle, *feeds))
        executor.run(startup)
        outs = executor.run(main, feed={f"x{i}": a for i, a in enumerate(arrays)}, fetch_list=fetches)
        path = os.path.join(folder, name)
        paddle.static.save_inference_model(path, feeds, fetches, executor, program=main)
    with paddle.static.scope_guard(paddle.static.Scope()):
        loaded, names, targets = paddle.static.load_inference_model(path, executor)
        again = executor.run(loaded, feed={n: arrays[int(n[1:])] for n in names}, fetch_list=targets)
    for a, b in zip(outs, again):  # saving drops operators that work in place and are not read later
        np.testing.assert_allclose(a, b, rtol=1e-5)
    params = os.path.join(folder, name + ".pdiparams")
    with open(os.path.join(folder, name + ".json"), "rb") as f:
        text = f.read()
    data = open(params, "rb").read() if os.path.exists(params) else b""
    return text, data, {f"in{i}": a for i, a in enumerate(arrays)} | {f"out{i}": o for i, o in enumerate(outs)}


def save_network(name: str, folder: str) -> tuple[bytes, bytes, dict]:
    build, *inputs = pir_networks.NETWORKS[name]
    paddle.seed(7)
    layer = build(paddle)
    layer.train()
    arrays = [pir_cases.make(text, i) for i, text in enumerate(inputs)]
    for _ in range(2):  # statistics of batches that are not 0 and 1
        layer(*map(paddle.to_tensor, arrays))
    layer.eval()
    outs = flat(layer(*map(paddle.to_tensor, arrays)))
    specs = [
        paddle.static.InputSpec(pir_cases.describe(t)[1], pir_cases.DTYPES[t[0]], f"x{i}") for i, t in enumerate(inputs)
    ]
    path = os.path.join(folder, name)
    paddle.jit.save(layer, path, input_spec=specs)
    files = [open(path + s, "rb").read() for s in (".json", ".pdiparams")]
    return *files, {f"in{i}": a for i, a in enumerate(arrays)} | {f"out{i}": o.numpy() for i, o in enumerate(outs)}


FUSED = [
    ("bert", "matmul_add_act_fuse_pass"), ("bert", "embedding_eltwise_layernorm_fuse_pass"),
    ("transformer", "add_norm_fuse_pass"), ("vgg", "conv2d_add_act_fuse_pass"), ("mobilenet", "conv2d_add_fuse_pass"),
]  # fmt: skip


def save_fused(name: str, fusion: str, folder: str) -> tuple[bytes, bytes]:
    """A network of `folder` after a pass of the official package."""
    executor = paddle.static.Executor(paddle.CPUPlace())
    with paddle.static.scope_guard(paddle.static.Scope()):
        program = paddle.static.load_inference_model(os.path.join(folder, name), executor)[0]
        passes = paddle.pir.PassManager(2)
        passes.add_pass(fusion, {})
        passes.run(program)
        path = os.path.join(folder, "fused.json")
        paddle.base.core.serialize_pir_program(program, path, 4, True, False, False)
        found = [v for group in paddle.static.pir_io.get_pir_parameters(program) for v in group if v.persistable]
        paddle.static.pir_io.save_vars_pir(folder, program, found, filename="fused.pdiparams")
    return open(path, "rb").read(), open(os.path.join(folder, "fused.pdiparams"), "rb").read()


def add(archive: zipfile.ZipFile, name: str, text: bytes, params: bytes, arrays: dict) -> None:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    for suffix, data in ((".json", text), (".pdiparams", params), (".npz", stream.getvalue())):
        if data and (arrays or suffix != ".npz"):
            entry = zipfile.ZipInfo(name + suffix)
            entry.compress_type = zipfile.ZIP_LZMA
            archive.writestr(entry, data)


def main(target: str, wanted: list[str]) -> None:
    paddle.enable_static()
    os.makedirs(target, exist_ok=True)
    failed = []
    with (
        tempfile.TemporaryDirectory() as folder,
        zipfile.ZipFile(os.path.join(target, "operators.zip"), "w", zipfile.ZIP_LZMA) as archive,
    ):
        for case in pir_cases.CASES:
            if wanted and case[0] not in wanted:
                continue
            print(case[0], flush=True)
            try:
                text, params, arrays = save(case, folder)
            except Exception as e:
                failed.append(case[0])
                print("FAILED", case[0], str(e).strip().splitlines()[-1][:200])
                continue
            add(archive, case[0], text, params, arrays)
    paddle.disable_static()
    path = os.path.join(target, "networks.zip")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name in pir_networks.NETWORKS:
            if not wanted or name in wanted:
                add(archive, name, *save_network(name, folder))
        paddle.enable_static()
        with zipfile.ZipFile(os.path.join(target, "fused.zip"), "w", zipfile.ZIP_LZMA) as fused:
            for name, fusion in FUSED:
                if not wanted or name in wanted:
                    add(fused, f"{name}-{fusion}", *save_fused(name, fusion, folder), {})
    print(len(failed), "failed")


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), sys.argv[2:])
