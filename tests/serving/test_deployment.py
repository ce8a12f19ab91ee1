"""What the files for Docker, Kubernetes and Ray call is what our programs take, and fits together."""

import re
import subprocess
import sys
import tomllib

import numpy as np
import pytest
import yaml

import paddle
from paddle.serving.__main__ import options_of, parser
from paddle.serving.options import server_options

from _servers import ROOT, digits, environment, rows

DEPLOY = ROOT / "deploy"


def stages():
    """(instruction, arguments) of each stage of the Dockerfile."""
    found = {}
    for line in re.sub(r"\\\n\s*", " ", (DEPLOY / "Dockerfile").read_text()).splitlines():
        if line and not line.startswith("#"):
            instruction, _, arguments = line.partition(" ")
            if instruction == "FROM":
                stage = found[arguments.rsplit(" AS ", 1)[1]] = []
            stage.append((instruction, arguments))
    return found


def options(*command):
    args = parser().parse_args(command)
    given = options_of(args)
    return given.pop("models"), server_options(**given)


def test_images():
    found = stages()
    assert list(found) == ["base", "serve", "train"]
    extras = re.findall(r'"\.\[\$\{EXTRA\}([a-z,]+)\]"', (DEPLOY / "Dockerfile").read_text())
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert len(extras) == 2 and all(e in known for each in extras for e in each.split(","))
    serve = dict(found["serve"])
    entry, command = (yaml.safe_load(serve[k]) for k in ("ENTRYPOINT", "CMD"))
    assert entry[:3] == ["python", "-m", "paddle.serving"]
    models, made = options(*entry[3:], *command)
    assert (models, made.host, str(made.port)) == ("/models", "0.0.0.0", serve["EXPOSE"])
    for source in re.findall(r"^COPY (.+) \S+$", (DEPLOY / "Dockerfile").read_text(), re.M):
        assert all((ROOT / name).exists() for name in source.split())
    assert all(dict(found[stage])["USER"] == "10001" for stage in ("serve", "train"))


def test_serving_on_kubernetes():
    documents = list(yaml.safe_load_all((DEPLOY / "serving.yaml").read_text()))
    service, deployment, scaler, budget = documents
    pod = deployment["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    models, made = options(*container["args"])
    assert models.startswith("s3://")
    pause = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["spec"]["terminationGracePeriodSeconds"] > pause + made.drain + made.grace + 5
    labels = pod["metadata"]["labels"]
    for selector in (service["spec"]["selector"], deployment["spec"]["selector"]["matchLabels"], budget["spec"]["selector"]["matchLabels"]):  # fmt: skip
        assert selector == labels
    assert scaler["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    assert container["ports"][0] == {"name": service["spec"]["ports"][0]["targetPort"], "containerPort": 8080}
    app = paddle.serving.create_app([])
    paths = app.openapi()["paths"]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["path"] in paths
    assert pod["metadata"]["annotations"]["prometheus.io/path"] in paths
    assert {v["name"] for v in pod["spec"]["volumes"]} == {v["name"] for v in container["volumeMounts"]}
    text = (DEPLOY / "serving.yaml").read_text()
    assert re.search("paddle_serving_waiting_rows", text) and b"paddle_serving_waiting_rows" in app.state.metrics.text()


def queue_arguments(command):
    """The arguments of a line that calls the queue, as the script understands them."""
    done = subprocess.run(
        [sys.executable, "-c", "import sys, runpy; sys.modules['redis'] = None; "
         "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')", *command],
        capture_output=True, text=True, env=environment(), timeout=100,
    )  # fmt: skip
    return done.stderr


def test_queue_on_kubernetes_and_compose():
    service, redis, trainers = yaml.safe_load_all((DEPLOY / "queue.yaml").read_text())
    assert redis["spec"]["serviceName"] == service["metadata"]["name"]
    (container,) = trainers["spec"]["template"]["spec"]["containers"]
    script, *rest = [a.replace("$(QUEUE)", "redis://queue:6379/0") for a in container["args"]]
    assert script == "/code/job_queue.py" and "COPY deploy /code" in (DEPLOY / "Dockerfile").read_text()
    said = queue_arguments([str(DEPLOY / "job_queue.py"), *rest])  # without the package, it ends where it would connect
    assert "redis" in said and "usage" not in said

    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    services = compose["services"]
    for name, each in services.items():
        assert set(each.get("depends_on", {})) <= set(services), name
        named = [v.split(":")[0] for v in each.get("volumes", [])]
        assert set(named) <= set(compose["volumes"]), name
        if "build" in each:
            assert each["build"]["target"] in stages() and (DEPLOY / each["build"]["context"] / each["build"]["dockerfile"]).exists()  # fmt: skip
        # nothing is open to other machines
        assert all(p.startswith("127.0.0.1:") for p in each.get("ports", [])), name
    models, made = options(*services["serve"]["command"])
    assert models == "s3://models" and made.drain + made.grace + 5 < int(services["serve"]["stop_grace_period"][:-1])
    for name in ("train", "put"):
        (line,) = services[name]["command"]
        assert "/code/job_queue.py" in line and "$$QUEUE" in line
    assert (DEPLOY / "train_digits.py").exists() and "/code/train_digits.py" in services["put"]["command"][0]


@pytest.mark.slow
def test_ray(tmp_path):
    """Two replicas in a local cluster give the answers of the model."""
    pytest.importorskip("ray.serve")
    layer = digits(tmp_path / "models" / "digits" / "1", max_batch=4)
    script = tmp_path / "script.py"
    script.write_text(
        f"""
import json, sys, urllib.request
sys.path.insert(0, {str(DEPLOY)!r})
import numpy as np, ray
from ray import serve
from ray_serve import application
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
serve.start(http_options={{"host": "127.0.0.1", "port": int(sys.argv[2])}})
serve.run(application(sys.argv[1], (2, 2), 0.5, max_body=100_000), name="models", route_prefix="/")
x = np.load(sys.argv[3])
url = f"http://127.0.0.1:{{sys.argv[2]}}/v1/models/digits/predict"
found = []
for row in x:
    body = json.dumps({{"inputs": {{"image": [row.tolist()]}}}}).encode()
    request = urllib.request.Request(url, body, {{"Content-Type": "application/json"}})
    found.append(json.load(urllib.request.urlopen(request, timeout=60))["outputs"]["fetch_name_0"][0])
np.save(sys.argv[4], np.array(found))
serve.shutdown()
ray.shutdown()
"""
    )
    from paddle.distributed.launch.main import free_ports

    x = rows(6)
    np.save(tmp_path / "x.npy", x)
    names = [str(tmp_path / "models"), str(free_ports(1, None)[0]), str(tmp_path / "x.npy"), str(tmp_path / "y.npy")]
    command = [sys.executable, str(script), *names]
    done = subprocess.run(
        command, env=environment(RAY_USAGE_STATS_ENABLED="0"), capture_output=True, text=True, timeout=250, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-3000:]
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), layer(paddle.to_tensor(x)).numpy(), 1e-4, 1e-5)
