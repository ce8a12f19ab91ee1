"""`python -m paddle.serving MODEL_DIR`: see docs/deploy.md."""

from __future__ import annotations

import argparse
import sys


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser("python -m paddle.serving", description="Serve models over HTTP.")
    made.add_argument("models", help="a folder of models, of one model, or an address such as s3://bucket/models")
    made.add_argument("--host", default="127.0.0.1", help="0.0.0.0 for all networks (default: %(default)s)")
    made.add_argument("--port", type=int, default=8080, help="0 takes a free one (default: %(default)s)")
    made.add_argument("--workers", type=int, default=1, help="processes (default: %(default)s)")
    batching = made.add_argument_group("models", "unless serving.json beside a model says something else")
    batching.add_argument("--max-batch", type=int, help="rows that run together at most")
    batching.add_argument("--max-delay", type=float, dest="max_delay_ms", help="milliseconds to wait for others")
    batching.add_argument("--max-queue", type=int, help="rows that may wait; beyond, 429")
    batching.add_argument("--timeout", type=float, help="seconds to the answer; beyond, 504")
    batching.add_argument("--instances", type=int, help="runs of a model at the same time in a process")
    batching.add_argument("--device", choices=["auto", "cpu", "gpu"])
    limits = made.add_argument_group("limits")
    limits.add_argument("--max-body", type=int, help="bytes of a request; beyond, 413")
    limits.add_argument("--max-waiting", type=int, help="bytes of all requests that are open; beyond, 429")
    limits.add_argument("--max-pixels", type=int, help="of a picture; beyond, 422")
    limits.add_argument("--body-timeout", type=float, help="seconds for a request to arrive; beyond, 408")
    life = made.add_argument_group("life")
    life.add_argument("--drain", type=float, help="after SIGTERM, seconds for a last request on open connections")
    life.add_argument("--grace", type=float, help="after SIGTERM, seconds until what is left is broken off")
    life.add_argument("--hang", type=float, help="seconds of silence after which a process is replaced")
    life.add_argument("--reload", type=float, help="seconds between looks for new versions; 0: only on SIGHUP")
    made.add_argument("--api-keys", help="a file with a key in each line (or PADDLE_SERVING_API_KEYS)")
    made.add_argument("--no-access-log", action="store_false", dest="access_log", default=None)
    made.add_argument("--no-docs", action="store_false", dest="docs", default=None)
    return made


_OF_MODELS = ("max_batch", "max_delay_ms", "max_queue", "timeout", "instances", "device")


def options_of(args: argparse.Namespace) -> dict:
    """What `paddle.serving.serve` takes, from the command line."""
    given = {k: v for k, v in vars(args).items() if v is not None}
    given["defaults"] = {k: given.pop(k) for k in _OF_MODELS if k in given}
    if "api_keys" in given:
        with open(given["api_keys"]) as file:
            given["api_keys"] = file.read().split()
        if not given["api_keys"]:
            raise ValueError(f"the file {args.api_keys!r} holds no key")
    return given


def main() -> None:
    args = parser().parse_args()
    try:
        from .supervisor import serve

        given = options_of(args)
        sys.exit(serve(given.pop("models"), **given))
    except ModuleNotFoundError as e:
        sys.exit(f"serving needs the package {e.name}: pip install 'paddle-xla[serve]'")
    except (ValueError, OSError, RuntimeError, NotImplementedError) as e:
        sys.exit(str(e))


if __name__ == "__main__":
    main()
