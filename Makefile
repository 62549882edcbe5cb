# Every target sets up what it needs: Python 3.11 or newer, pip and make are enough to start from.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.complete

# BLAS threads only slow down matrices as small as ours.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: paper test test-slow lint setup clean

paper: setup  ## reproduce the paper's experiments
	$(BIN)/r1nes paper --out paper

test: lint  ## style, types, import rules and all tests but the slow ones
	$(BIN)/pytest -m "not slow"

test-slow: setup  ## the tests that take minutes: large dimensions
	$(BIN)/pytest -m slow

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

setup: $(SETUP)  ## the environment that paper and test use

$(SETUP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "r1nes needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) paper
