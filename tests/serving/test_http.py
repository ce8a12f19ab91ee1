"""A server in a process of its own, asked over HTTP."""

import base64
import io
import json
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import safetensors.numpy
from PIL import Image

import paddle
from paddle.static import InputSpec

from _servers import Centred, Pictures, Server, Slow, Words, digits, rows, saved

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


@pytest.fixture(scope="module")
def layers(tmp_path_factory):
    """The folder of models, and the layers in it."""
    folder = tmp_path_factory.mktemp("models")
    found = {("digits", v): digits(folder / "digits" / str(v), v) for v in (1, 2)}
    (folder / "digits" / "serving.json").write_text('{"max_batch": 16, "max_delay_ms": 30}')
    specs = [InputSpec([None, None], "int64", "ids"), InputSpec([None, None], "float32", "mask")]
    found["words", 1] = saved(Words(), folder / "words" / "1", specs, lengths=[4, 8], max_batch=4)
    preparation = {"resize": 20, "crop": 16, "mean": MEAN, "std": STD}
    specs = [InputSpec([None, 3, 16, 16], "float32", "picture")]
    found["pictures", 3] = saved(
        Pictures(), folder / "pictures" / "3", specs, images={"picture": preparation}, max_batch=2
    )
    found["centred", 1] = saved(
        Centred(), folder / "centred" / "1", [InputSpec([None, 3], "float32", "x")], max_shapes=3
    )
    specs = [InputSpec([None, 4], "float32", "x")]
    found["slow", 1] = saved(Slow(8), folder / "slow" / "1", specs, max_batch=1, max_queue=2, timeout=20)
    found["late", 1] = saved(Slow(8), folder / "late" / "1", specs, max_batch=1, timeout=0.02)
    return folder, found


@pytest.fixture(scope="module")
def server(layers, tmp_path_factory):
    made = Server(
        layers[0], "--max-body", 2_000_000, "--max-pixels", 1_000_000, "--body-timeout", 2, "--drain", 0.2,
        log=tmp_path_factory.mktemp("log") / "server.log",
    )  # fmt: skip
    with made:
        yield made.ready()
        assert made.stop() == 0


@pytest.fixture
def client(server):
    with server.client() as made:
        yield made


def ask(client, name, inputs, version=None, **more):
    where = f"/versions/{version}" if version else ""
    plain = {k: v.tolist() for k, v in inputs.items()}
    return client.post(f"/v1/models/{name}{where}/predict", json={"inputs": plain}, **more)


def outputs(answer):
    assert answer.status_code == 200, answer.text
    return [np.array(v) for v in answer.json()["outputs"].values()]


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def wanted(layer, *arrays):
    with paddle.no_grad():
        found = layer(*map(paddle.to_tensor, arrays))
    return [t.numpy() for t in (found if isinstance(found, (list, tuple)) else [found])]


# ---- answers are those of the model ----
@pytest.mark.parametrize("count", [1, 3, 16, 50])
def test_rows_in_json(client, layers, count):
    x = rows(count)
    for version in (1, 2):
        found = ask(client, "digits", {"image": x}, version)
        close(outputs(found)[0], wanted(layers[1]["digits", version], x)[0])
    newest = ask(client, "digits", {"image": x})
    assert (newest.json()["model"], newest.json()["version"]) == ("digits", 2)
    close(outputs(newest)[0], outputs(found)[0])


def test_binary_bodies(client, layers):
    x, file = rows(3), io.BytesIO()
    np.save(file, x)
    (want,) = wanted(layers[1]["digits", 2], x)
    archive = io.BytesIO()
    np.savez_compressed(archive, image=x)
    fortran = io.BytesIO()
    np.save(fortran, np.asfortranarray(x))
    bodies = {
        "application/x-npy": file.getvalue(),
        "application/octet-stream": fortran.getvalue(),
        "application/x-npz": archive.getvalue(),
        "application/vnd.safetensors": safetensors.numpy.save({"image": x}),
    }
    for kind, body in bodies.items():
        found = client.post("/v1/models/digits/predict", content=body, headers={"Content-Type": kind})
        assert found.status_code == 200, found.text
        if kind in ("application/x-npy", "application/octet-stream"):
            arrays = {"only": np.load(io.BytesIO(found.content), allow_pickle=False)}
        elif kind == "application/x-npz":
            arrays = dict(np.load(io.BytesIO(found.content), allow_pickle=False))
        else:
            arrays = safetensors.numpy.load(found.content)
        (array,) = arrays.values()
        assert array.dtype == np.float32
        close(array, want)
    found = client.post(
        "/v1/models/digits/predict", content=file.getvalue(),
        headers={"Content-Type": "application/x-npy", "Accept": "text/html, application/json;q=0.9"},
    )  # fmt: skip
    close(outputs(found)[0], want)


@pytest.mark.parametrize("shape", [(1, 3), (2, 4), (3, 5), (7, 8), (4, 1)])
def test_lengths_are_padded_and_cut(client, layers, shape):
    ids = np.random.default_rng(1).integers(0, 50, shape)
    mask = np.ones(shape, "float32")
    found = ask(client, "words", {"ids": ids, "mask": mask})
    for a, b in zip(outputs(found), wanted(layers[1]["words", 1], ids, mask), strict=True):
        close(a, b)


def test_rows_that_depend_on_each_other_run_by_themselves(client, layers, server):
    requests = [np.random.default_rng(i).normal(size=(2 + i % 2, 3)).astype("float32") for i in range(6)]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda x: ask(client, "centred", {"x": x}), requests))
    for x, answer in zip(requests, answers):
        close(outputs(answer)[0], x - x.mean(0, keepdims=True))
    assert outputs(ask(client, "centred", {"x": np.zeros((4, 3))}))[0].shape == (4, 3)
    refused = ask(client, "centred", {"x": np.zeros((5, 3))})  # the fourth shape: each would be compiled
    assert refused.status_code == 422 and "3 other shapes" in refused.json()["detail"]
    assert any("runs each request by itself" in line["message"] for line in server.lines())


def picture(width, height):
    pixels = np.random.default_rng(2).integers(0, 255, (height, width, 3), dtype="uint8")
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return pixels, file.getvalue()


def test_pictures(client, layers):
    pixels, body = picture(40, 30)
    from paddle.vision import transforms as T

    prepare = T.Compose([T.Resize(20), T.CenterCrop(16), T.ToTensor(), T.Normalize(MEAN, STD)])
    want = wanted(layers[1]["pictures", 3], prepare(Image.fromarray(pixels)).numpy()[None])[0]
    found = client.post("/v1/models/pictures/predict", content=body, headers={"Content-Type": "image/png"})
    close(outputs(found)[0], want)
    text = base64.b64encode(body).decode()
    found = client.post("/v1/models/pictures/predict", json={"inputs": {"picture": [{"b64": text}] * 3}})
    close(outputs(found)[0], np.repeat(want, 3, 0))


def test_requests_that_wait_together_run_together(server, layers):
    x = rows(60, 5)
    (want,) = wanted(layers[1]["digits", 2], x)
    before = server.figure("runs_total", model="digits"), server.figure("requests_total", model="digits")
    sizes = [1, 2, 3] * 10
    starts = np.cumsum([0, *sizes])

    def one(i):
        part = x[starts[i] : starts[i + 1]]
        with server.client() as client:
            return outputs(ask(client, "digits", {"image": part}))[0]

    with ThreadPoolExecutor(10) as pool:
        found = list(pool.map(one, range(30)))
    close(np.concatenate(found), want)  # nobody got the rows of another
    runs, requests = (server.figure(n, model="digits") - b for n, b in zip(("runs_total", "requests_total"), before))
    assert requests == 30 and runs < 20
    assert server.figure("rows_total", model="digits") >= 60


# ---- what does not fit ----
MALFORMED = {
    "no json": (b"{", "application/json"),
    "other json": (b"[1]", "application/json"),
    "no inputs": (b"{}", "application/json"),
    "unknown name": (b'{"inputs": {"picture": [[1]]}}', "application/json"),
    "short row": (b'{"inputs": {"image": [[1, 2]]}}', "application/json"),
    "no rows": (b'{"inputs": {"image": []}}', "application/json"),
    "text": (json.dumps({"inputs": {"image": [["1"] * 784]}}).encode(), "application/json"),
    "too large a number": (json.dumps({"inputs": {"image": [[1e39] * 784]}}).encode(), "application/json"),
    "not a number": (b'{"inputs": {"image": [[' + b"NaN," * 783 + b"NaN]]}}", "application/json"),
    "deep": (b'{"inputs": {"image": ' + b"[" * 5000 + b"]" * 5000 + b"}}", "application/json"),
    "more": (json.dumps({"inputs": {"image": [[0] * 784]}, "run": "x"}).encode(), "application/json"),
    "empty": (b"", "application/json"),
    "no npy": (b"xx", "application/x-npy"),
    "no npz": (b"PK\x03\x04xx", "application/x-npz"),
    "no safetensors": (b"\xff" * 20, "application/vnd.safetensors"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed(client, name):
    body, kind = MALFORMED[name]
    found = client.post("/v1/models/digits/predict", content=body, headers={"Content-Type": kind})
    assert found.status_code == 422 and found.json()["detail"], found.text
    assert b"Traceback" not in found.content


def test_other_refusals(client):
    def post(content=b"x", name="digits", **headers):
        return client.post(f"/v1/models/{name}/predict", content=content, headers=headers)

    assert post(**{"Content-Type": "text/plain"}).status_code == 415
    assert post(**{"Content-Type": "image/png"}).status_code == 415  # this model takes no pictures
    assert post(name="none").status_code == 404 and client.get("/v1/models/none").status_code == 404
    assert client.get("/v1/models/digits/predict").status_code == 405
    assert client.post("/v1/models/..%2f..%2fetc/predict").status_code == 404
    good = json.dumps({"inputs": {"image": [[0] * 784]}}).encode()
    assert post(good, Accept="text/html").status_code == 406
    assert post(b"x" * 3_000_000, **{"Content-Type": "application/json"}).status_code == 413
    chunks = (b" " * 100_000 for _ in range(30))  # of a length that nobody announces
    assert post(chunks, **{"Content-Type": "application/json"}).status_code == 413
    large = io.BytesIO()
    Image.new("1", (1200, 1200)).save(large, "PNG")
    found = post(large.getvalue(), "pictures", **{"Content-Type": "image/png"})
    assert found.status_code == 422 and "1200 x 1200" in found.text
    ids, mask = [[1, 2]], [[1.0, 1.0, 1.0]]
    found = client.post("/v1/models/words/predict", json={"inputs": {"ids": ids, "mask": mask}})
    assert found.status_code == 422 and "must be equal" in found.text
    found = client.post("/v1/models/words/predict", json={"inputs": {"ids": [[1, 2], [3]], "mask": [[1.0], [1.0]]}})
    assert found.status_code == 422 and "different lengths" in found.text
    assert post(good).status_code == 200


# ---- load, slowness, disappearance ----
def test_a_full_queue_and_late_answers(server):
    x = np.zeros((1, 4), "float32")
    with server.client() as client, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(client, "slow", {"x": x}), range(8)))
        codes = sorted(a.status_code for a in answers)
        assert codes[0] == 200 and codes[-1] == 429, codes
        for answer in answers:
            assert answer.status_code == 200 or 1 <= int(answer.headers["Retry-After"]) <= 60
        late = ask(client, "late", {"x": x})
        assert late.status_code == 504 and "0.02 s" in late.json()["detail"]
        assert ask(client, "digits", {"image": rows(1)}).status_code == 200


def raw(server):
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=30)


def test_slow_and_aborted_requests(server, client):
    head = b"POST /v1/models/digits/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    silent, part, body = raw(server), raw(server), raw(server)
    part.sendall(head)  # a head that never ends
    body.sendall(head + b"Content-Length: 100\r\n\r\n{")  # a body that never ends
    for _ in range(5):  # clients that leave in the middle
        with raw(server) as leaving:
            leaving.sendall(head + b"Content-Length: 100\r\n\r\n{")
    before = server.figure("runs_total", model="slow")
    text = json.dumps({"inputs": {"x": [[0] * 4]}}).encode()
    leave = [raw(server) for _ in range(3)]
    for connection in leave:  # the first runs, the others wait
        connection.sendall(head.replace(b"digits", b"slow") + b"Content-Length: %d\r\n\r\n" % len(text) + text)
    time.sleep(0.05)
    for connection in leave:
        connection.close()
    assert ask(client, "digits", {"image": rows(1)}).status_code == 200
    answer = body.recv(1000)
    assert answer.startswith(b"HTTP/1.1 408") and b"\r\nconnection: close" in answer.lower()
    assert part.recv(1000) == b"" and silent.recv(1000) == b""  # closed
    for connection in (silent, part, body):
        connection.close()
    end = time.monotonic() + 30
    while server.figure("open_requests") > 1:  # this one itself
        assert time.monotonic() < end
        time.sleep(0.1)
    assert server.figure("runs_total", model="slow") <= before + 3
    assert server.figure("waiting_rows", model="slow") == 0


# ---- what one can see from outside ----
def test_descriptions(client):
    models = {(m["name"], m["version"]): m for m in client.get("/v1/models").json()}
    assert set(models) == {("digits", 1), ("digits", 2), ("words", 1), ("pictures", 3), ("centred", 1), ("slow", 1), ("late", 1)}  # fmt: skip
    assert models["digits", 2]["inputs"] == [{"name": "image", "shape": [None, 784], "dtype": "float32"}]
    assert models["digits", 2]["sizes"] == [1, 2, 4, 8, 16] and models["centred", 1]["sizes"] == []
    assert len(client.get("/v1/models/digits").json()) == 2
    parts = client.get("/openapi.json").json()["components"]["schemas"]
    image = parts["digits_2_inputs"]["properties"]["image"]
    assert image["items"]["minItems"] == image["items"]["maxItems"] == 784
    assert image["items"]["items"] == {"type": "number", "minimum": -float(np.finfo("f4").max), "maximum": float(np.finfo("f4").max)}  # fmt: skip
    ids = parts["words_1_inputs"]["properties"]["ids"]
    assert ids["items"]["maxItems"] == 8 and ids["items"]["items"]["type"] == "integer"
    assert "swagger" in client.get("/docs").text
    assert client.get("/healthz").json() == {"status": "alive"} and client.get("/readyz").json() == {"status": "ready"}


def test_ids_logs_and_figures(client, server):
    found = ask(client, "digits", {"image": rows(2)}, headers={"X-Request-ID": "a-b:c.1"})
    assert found.headers["X-Request-ID"] == "a-b:c.1"
    other = ask(client, "digits", {"image": rows(2)}, headers={"X-Request-ID": 'a"\\\tb'})
    assert re.fullmatch("[0-9a-f]{32}", other.headers["X-Request-ID"])
    line = server.wait(lambda: next((n for n in server.lines() if n.get("request_id") == "a-b:c.1"), None))
    assert (line["model"], line["version"], line["rows"], line["status"]) == ("digits", 2, 2, 200)
    assert line["level"] == "info" and line["ms"] > 0 and line["path"] == "/v1/models/digits/predict"
    text = client.get("/metrics").text
    assert 'paddle_serving_requests_total{code="200",model="digits",version="2"}' in text
    assert 'paddle_serving_run_seconds_bucket{le="0.1",model="digits",version="2"}' in text


def test_many_threads_get_their_own_answers(server, layers):
    x = rows(40, 9)
    (want,) = wanted(layers[1]["digits", 1], x)
    wrong = []

    def hammer(k):
        with server.client() as client:
            for i in range(k, 40, 4):
                found = outputs(ask(client, "digits", {"image": x[i : i + 1]}, 1))[0]
                if not np.allclose(found, want[i : i + 1], rtol=1e-4, atol=1e-5):
                    wrong.append(i)

    threads = [threading.Thread(target=hammer, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
