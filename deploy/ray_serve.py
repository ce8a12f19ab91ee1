"""The models of a folder on a Ray cluster, with replicas that come and go with the load.

    pip install 'paddle-xla[serve]' 'ray[serve]'
    python deploy/ray_serve.py s3://bucket/models --replicas 1:8 --host 0.0.0.0 --port 8000

The addresses are those of `python -m paddle.serving`; each replica batches its own requests.
"""

import argparse
import os

from ray import serve


def application(path, replicas=(1, 4), cpus=1.0, gpus=0.0, target=16, **options):
    """A Ray Serve application.

    Args:
        path: the models, on all machines, or an address such as s3://bucket/models.
        replicas: the least and the most.
        cpus, gpus: of a replica.
        target: open requests of a replica, above which more are started.
        options: of `paddle.serving.ServerOptions`.
    """

    def build():  # in the replica
        import contextlib

        from paddle.serving import create_app, find, here, load, server_options

        checked = server_options(**options)
        stack = contextlib.ExitStack()
        folder = stack.enter_context(here(path))
        app = create_app(load(find(folder, checked.defaults)), checked)
        app.state.models = stack  # a copy of what lies elsewhere stays as long as the replica
        return app

    @serve.deployment(
        name="models",
        ray_actor_options={"num_cpus": cpus, "num_gpus": gpus},
        max_ongoing_requests=8 * target,
        graceful_shutdown_timeout_s=60,
        autoscaling_config={
            "min_replicas": replicas[0], "max_replicas": replicas[1], "target_ongoing_requests": target,
        },
    )  # fmt: skip
    @serve.ingress(build)
    class Models:
        pass

    return Models.bind()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", help="a folder that all machines see, or an address such as s3://bucket/models")
    parser.add_argument("--replicas", default="1:4", help="the least and the most")
    parser.add_argument("--cpus", type=float, default=1, help="of a replica")
    parser.add_argument("--gpus", type=float, default=0, help="of a replica")
    parser.add_argument(
        "--target", type=int, default=16, help="open requests of a replica, above which more are started"
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    args = parser.parse_args()
    least, _, most = args.replicas.partition(":")
    path = args.models if "://" in args.models else os.path.abspath(args.models)
    serve.start(http_options={"host": args.host, "port": args.port})
    made = application(path, (int(least), int(most or least)), args.cpus, args.gpus, args.target)
    serve.run(made, name="models", route_prefix="/", blocking=True)


if __name__ == "__main__":
    main()
