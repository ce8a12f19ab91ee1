"""What `serving.py` compares with, run by the rivals' Python: the same ONNX model behind bare FastAPI, or behind LitServe.

python serving_rivals.py fastapi|litserve MODEL.onnx PORT json|binary SHAPE
"""

import base64
import sys

import numpy as np
import onnxruntime

try:
    from litserve import LitAPI
except ImportError:
    LitAPI = object

KIND, MODEL, PORT, BODY = sys.argv[1:5]
SHAPE = tuple(int(n) for n in sys.argv[5].split("x"))


def session():
    return onnxruntime.InferenceSession(MODEL, providers=["CPUExecutionProvider"])


def decoded(body):
    if BODY == "json":
        return np.asarray(body["inputs"]["image"], np.float32)
    return np.frombuffer(body, np.float32).reshape(-1, *SHAPE)


def fastapi():
    """As one writes it first: a function that decodes, runs, and answers."""
    import uvicorn
    from fastapi import FastAPI, Request, Response
    from pydantic import BaseModel

    app, model = FastAPI(), session()
    (name,) = [i.name for i in model.get_inputs()]

    class Inputs(BaseModel):
        image: list

    class Body(BaseModel):
        inputs: Inputs

    if BODY == "json":

        @app.post("/predict")
        def predict(body: Body):
            (scores,) = model.run(None, {name: np.asarray(body.inputs.image, np.float32)})
            return {"outputs": scores.tolist()}
    else:

        @app.post("/predict")
        async def predict(request: Request):
            (scores,) = model.run(None, {name: decoded(await request.body())})
            return Response(scores.tobytes(), media_type="application/octet-stream")

    uvicorn.run(app, host="127.0.0.1", port=int(PORT), log_level="error", access_log=False)


class Batched(LitAPI):
    """For LitServe; it takes JSON, so arrays come in base64."""

    def setup(self, device):
        self.model = session()
        (self.name,) = [i.name for i in self.model.get_inputs()]

    def decode_request(self, request):
        image = request["inputs"]["image"]
        return decoded(base64.b64decode(image))[0] if isinstance(image, str) else decoded(request)[0]

    def batch(self, inputs):
        return np.stack(inputs)

    def predict(self, x):
        return self.model.run(None, {self.name: x})[0]

    def unbatch(self, output):
        return list(output)

    def encode_response(self, output):
        return {"outputs": [output.tolist()]}


def litserve():
    from litserve import LitServer

    server = LitServer(Batched(max_batch_size=32, batch_timeout=0.002), accelerator="cpu", workers_per_device=1)
    server.run(host="127.0.0.1", port=int(PORT), num_api_servers=1, log_level="error", generate_client_file=False)


if __name__ == "__main__":
    {"fastapi": fastapi, "litserve": litserve}[KIND]()
