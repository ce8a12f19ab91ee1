#!/usr/bin/env bash
# Sets everything up (a virtual environment in .venv) and runs the main job: trains a convolutional network on real
# handwritten digits, saves it, and loads it again.
set -euo pipefail
cd "$(dirname "$0")"
source tools/environment.sh
"$VENV/bin/python" examples/train_digits.py "$@"
