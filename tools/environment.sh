# Sourced by the scripts beside the README: makes the virtual environment $VENV (default .venv) with the package in it.
VENV="${VENV:-.venv}"
PYTHON="${PYTHON:-python3}"
if [ ! -x "$VENV/bin/python" ]; then
    "$PYTHON" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || {
        echo "Python 3.11, 3.12 or 3.13 is needed; name one with PYTHON=/path/to/python3.11" >&2
        exit 1
    }
    "$PYTHON" -m venv "$VENV"
fi
if [ ! -f "$VENV/.installed" ] || [ pyproject.toml -nt "$VENV/.installed" ]; then
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
    touch "$VENV/.installed"
fi
