#!/usr/bin/env bash
# Sets everything up (a virtual environment in .venv, or in $VENV) and runs the tests. Arguments go to pytest; TEST_JOBS says how many processes.
set -euo pipefail
cd "$(dirname "$0")"
source tools/environment.sh
"$VENV/bin/ruff" check --quiet .
"$VENV/bin/ruff" format --check --quiet .
"$VENV/bin/mypy"
"$VENV/bin/python" -m pytest -n "${TEST_JOBS:-2}" --dist loadfile "$@"
