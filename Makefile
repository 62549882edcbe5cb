# Every target sets up what it needs: Python 3.11 or newer, pip and make are enough to start from.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.complete
ARRAYS := .venv-arrays
DOCS := $(VENV)/.docs
BROWSER := $(VENV)/.browser

# BLAS threads only slow down matrices as small as ours.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: paper test test-slow test-arrays test-browser docs lint setup clean

paper: setup  ## reproduce the paper's experiments
	$(BIN)/r1nes paper --out paper

test: lint  ## style, types, import rules and all tests but the slow ones
	$(BIN)/pytest -m "not slow and not arrays and not browser"

test-slow: setup  ## the tests that take minutes: large dimensions
	$(BIN)/pytest -m slow --timeout 3600

test-browser: docs $(BROWSER)  ## our pages in a real Chromium; screenshots of them in browser/
	$(BIN)/pytest tests/browser

# In two processes: one that has JAX in it must not fork.
test-arrays: $(ARRAYS)/.complete  ## the tests that need PyTorch and JAX, in an environment of their own
	$(ARRAYS)/bin/python -m pytest tests/arrays
	$(ARRAYS)/bin/python -m pytest -m arrays tests/integrations/test_torch.py tests/test_docs.py tests/test_examples.py

docs: $(DOCS)  ## the site, in docs/_build/html; a warning is an error
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --fresh-env -d docs/_build/doctrees docs docs/_build/html
	@echo docs/_build/html/index.html

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

$(DOCS): $(SETUP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

$(BROWSER): $(SETUP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[browser]'
	touch $@

$(ARRAYS)/.complete: pyproject.toml
	$(PYTHON) -m venv $(ARRAYS)
	$(ARRAYS)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 hypothesis pytest pytest-timeout --editable '.[jax,plot,torch]'
	touch $@

clean:
	rm -rf $(VENV) $(ARRAYS) paper browser docs/_build
