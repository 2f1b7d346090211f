#!/usr/bin/env bash
# The Python package: formatted, linted, built as a wheel, installed into a fresh environment, tested.
# Needs cargo, python3 (3.9 or later) with pip, and PyPI; PYTHON names another interpreter. What it
# installs goes to a temporary folder; CARGO_TARGET_DIR (default python/target) keeps the build.
set -euo pipefail
cd "$(dirname "$0")"

python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Where the system's Python comes without ensurepip, virtualenv makes the environment.
if ! "$python" -m venv "$work/venv" 2>"$work/log"; then
    rm -rf "$work/venv"
    "$python" -m pip install --quiet --target "$work/virtualenv" virtualenv==20.35.4 ||
        { cat "$work/log"; exit 1; }
    PYTHONPATH="$work/virtualenv" "$python" -m virtualenv --quiet "$work/venv"
fi
in_venv() { VIRTUAL_ENV="$work/venv" PATH="$work/venv/bin:$PATH" "$@"; }
in_venv python -m pip install --quiet maturin==1.16.0 pytest==8.4.2

cargo fmt --check
PYO3_PYTHON=$python cargo clippy --locked --release -- -D warnings
in_venv maturin build --locked --release --quiet --interpreter python --out "$work/wheels"
in_venv python -m pip install --quiet --no-index --find-links "$work/wheels" swerl-reward
in_venv python -m pytest -q -p no:cacheprovider
