#!/usr/bin/env bash
# Installs the rivals that benchmarks and oracle tests compare with, into .rivals/ beside the repository's files.
set -euo pipefail
cd "$(dirname "$0")/.."
python3 -m venv .rivals
.rivals/bin/pip install --quiet paddlepaddle==3.3.1 "numpy<2.4" setuptools torch onnx onnxruntime
.rivals/bin/pip install --quiet fastapi uvicorn httptools uvloop litserve  # for serving.py
.rivals/bin/python -c "import paddle, torch; print(paddle.__version__, torch.__version__)"
