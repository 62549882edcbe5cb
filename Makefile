# Every target sets up its environment. Python 3.11 or newer, pip and make are enough to start.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.complete
ARRAYS := .venv-arrays
DOCS := $(VENV)/.docs
BROWSER := $(VENV)/.browser

# pytest runs the tests in this many processes: one more than two cores, because many tests wait. Tests next to
# each other in a file tend to stay in one process (worksteal), because they share fixtures.
PROCESSES ?= 3
PARALLEL := -n $(PROCESSES) --dist worksteal
QUICK := -m "not slow and not arrays and not browser"

# Our matrices are too small to gain from BLAS threads.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: paper note test check test-slow test-arrays test-browser coverage mutants soak docs lint kernels setup clean

paper: setup  ## reproduce the paper's experiments
	$(BIN)/r1nes paper --out paper

note: setup  ## the figures and tables of docs/research/rknes.md and docs/paper.md, from recorded runs
	$(BIN)/r1nes paper --full --no-run --out results/paper
	$(BIN)/python benchmarks/ablation.py --no-run
	$(BIN)/python docs/note.py

test: setup  ## style, types, import rules and all tests except the slow ones
	$(MAKE) --jobs 2 lint kernels
	$(BIN)/pytest $(PARALLEL) $(QUICK)

check: lint  ## style, types, import rules and the tests of the rooms that a change touches
	tests=$$($(BIN)/python tests/support/touched.py) && $(BIN)/pytest $(PARALLEL) $(QUICK) $$tests

test-slow: setup  ## the tests that take minutes: large dimensions, timings
	$(BIN)/pytest -m slow --timeout 3600

test-browser: docs $(BROWSER)  ## our pages in a real Chromium; screenshots go to browser/
	$(BIN)/pytest tests/browser

# Two runs of pytest, because a process that has imported JAX must not fork.
test-arrays: $(ARRAYS)/.complete  ## the tests that need PyTorch and JAX, in their own environment
	$(ARRAYS)/bin/python -m pytest $(PARALLEL) tests/arrays
	$(ARRAYS)/bin/python -m pytest $(PARALLEL) -m arrays tests/integrations/test_torch.py tests/docs

# Worker processes are traced; numba is off, because compiled code cannot be. What needs PyTorch and JAX is traced
# in their own environment.
coverage: setup $(ARRAYS)/.complete  ## branch coverage of the package without bench and display
	rm -f .coverage .coverage.*
	PYTHONPATH=tests $(BIN)/coverage run -m pytest -p support.traced $(PARALLEL) $(QUICK) --ignore tests/bench --ignore tests/docs; \
	tested=$$?; \
	PYTHONPATH=tests $(ARRAYS)/bin/coverage run -m pytest -p support.traced $(PARALLEL) tests/arrays || tested=$$?; \
	PYTHONPATH=tests $(ARRAYS)/bin/coverage run -m pytest -p support.traced $(PARALLEL) -m arrays tests/integrations/test_torch.py || tested=$$?; \
	$(BIN)/coverage combine --quiet && $(BIN)/coverage report && exit $$tested

mutants: setup  ## whether the tests notice a hundred small mistakes; lists those that survive
	PYTHONPATH=tests $(BIN)/python -m mutants

# SOAK='--only 17' repeats a single run.
SOAK ?= --minutes 60 --jobs 2
soak: setup  ## random runs with random faults for an hour
	PYTHONPATH=tests $(BIN)/python -m soak $(SOAK)

docs: $(DOCS)  ## the site, in docs/_build/html; warnings are errors
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --fresh-env -d docs/_build/doctrees docs docs/_build/html
	@echo docs/_build/html/index.html

# Parallel tests would otherwise compile the same kernels at the same time, which takes half a minute.
kernels: setup
	PYTHONPATH=tests $(BIN)/python tests/support/compile_kernels.py

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

setup: $(SETUP)  ## the environment of paper and test

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
	$(ARRAYS)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 coverage hypothesis pytest pytest-timeout pytest-xdist --editable '.[jax,plot,torch]'
	touch $@

clean:
	rm -rf $(VENV) $(ARRAYS) paper browser docs/_build
