"""What the OpenAPI page says of requests and answers holds: schemathesis makes requests from it, right and wrong ones."""

import contextlib

import pytest

import paddle
from paddle.static import InputSpec

from _servers import Server, Words, saved

schemathesis = pytest.importorskip("schemathesis")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_openapi(tmp_path):
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import strategies as st
    from hypothesis.errors import Unsatisfiable
    from schemathesis import GenerationMode

    models = tmp_path / "models"
    saved(paddle.nn.Linear(4, 3), models / "small" / "1", [InputSpec([None, 4], "float32", "x")], max_batch=4)
    specs = [InputSpec([None, None], "int64", "ids"), InputSpec([None, None], "float32", "mask")]
    saved(Words(), models / "words" / "1", specs, lengths=[4], max_batch=2)
    for media in ("application/x-npy", "application/x-npz", "application/vnd.safetensors"):
        schemathesis.openapi.media_type(media, st.binary(max_size=200))
    with Server(models, log=tmp_path / "log") as server:
        server.ready()
        schema = schemathesis.openapi.from_url(server.url + "/openapi.json")
        tried = 0
        for found in schema.get_all_operations():
            operation = found.ok()
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                cases = operation.as_strategy(generation_mode=mode)

                @given(case=cases)
                @settings(max_examples=20, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
                          suppress_health_check=list(HealthCheck))  # fmt: skip
                def check(case):
                    nonlocal tried
                    tried += 1
                    response = case.call(timeout=60)
                    binary = case.media_type != "application/json" and case.method == "POST"
                    # arbitrary bytes are no arrays, and models have conditions that types do not say
                    excluded = [schemathesis.checks.positive_data_acceptance] if binary or "words" in case.path else []
                    case.validate_response(response, excluded_checks=excluded)

                with contextlib.suppress(Unsatisfiable):  # nothing that could be wrong
                    check()
        assert tried > 80
        assert not [n for n in server.lines() if n["level"] == "error"]
        assert server.stop() == 0
