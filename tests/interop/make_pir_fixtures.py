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
        paddle.static.save_inference_model(os.path.join(folder, name), feeds, fetches, executor, program=main)
    params = os.path.join(folder, name + ".pdiparams")
    with open(os.path.join(folder, name + ".json"), "rb") as f:
        text = f.read()
    data = open(params, "rb").read() if os.path.exists(params) else b""
    return text, data, {f"in{i}": a for i, a in enumerate(arrays)} | {f"out{i}": o for i, o in enumerate(outs)}


def main(target: str, wanted: list[str]) -> None:
    paddle.enable_static()
    os.makedirs(target, exist_ok=True)
    failed = []
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(
        os.path.join(target, "operators.zip"), "w", zipfile.ZIP_LZMA
    ) as archive:
        for case in pir_cases.CASES:
            if wanted and case[0] not in wanted:
                continue
            try:
                text, params, arrays = save(case, folder)
            except Exception as e:
                failed.append(case[0])
                print("FAILED", case[0], str(e).strip().splitlines()[-1][:200])
                continue
            stream = io.BytesIO()
            np.savez(stream, **arrays)
            for suffix, data in ((".json", text), (".pdiparams", params), (".npz", stream.getvalue())):
                entry = zipfile.ZipInfo(case[0] + suffix)
                entry.compress_type = zipfile.ZIP_LZMA
                if data:
                    archive.writestr(entry, data)
    print(len(failed), "failed")


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), sys.argv[2:])
