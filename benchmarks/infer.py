"""Inference of saved models through `paddle.inference`, in turns with official Paddle Inference, PyTorch and ONNX Runtime
(milliseconds a run)."""

from turns import main

NAMES = {"mlp_1": 200, "mlp_64": 100, "lenet_1": 200, "lenet_64": 30, "resnet_1": 10, "resnet_8": 3, "mobile_1": 20,
         "encoder_1": 20, "encoder_8": 5, "lstm_8": 10}  # fmt: skip

if __name__ == "__main__":
    main("infer_workloads", NAMES, 1e3, "ms", ("ours", "paddle", "torch", "onnx"))
