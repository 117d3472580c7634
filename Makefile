# `make demo` and `make test` do all of their own set-up: Python >= 3.11, make and (for speed) a
# C++ compiler are all they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
ENGINE := CMakeLists.txt $(wildcard $(addprefix src/quadfeat/_engine/cpp/,*.cpp *.hpp units/*.cpp))

# Tests run in several processes: fits run BLAS on one thread anyway, and other threads would compete
# for the processors. Each process starts with neighbouring files, so that it builds their fixtures
# once, and takes tests from the others when it is done.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
PROCESSES := --numprocesses=auto --maxprocesses=4 --dist=worksteal
PYTEST := $(ONE_THREAD) $(BIN)/pytest $(PROCESSES) $(ARGS)

TRUST := $(BIN)/python -m benchmarks.trust

.PHONY: demo test test-long coverage docs notebooks package lint bench accuracy training scale tables effects trust clean

demo: $(VENV)/demo.stamp
	$(BIN)/quadfeat demo

test: $(VENV)/dev.stamp lint
	$(PYTEST)
	$(TRUST) --quick

# Checks inputs, files, faults and figures against their bounds, for hours; ARGS=--quick takes a minute.
# The page on testing shows the records of a full run.
trust: $(VENV)/dev.stamp
	$(TRUST) $(ARGS)

# Tests that take long and rarely fail.
test-long: $(VENV)/dev.stamp
	$(PYTEST) -m long

# The branches of src that the tests take, also those of `make test-long`, recorded for the page on
# testing; build/coverage/html marks the others. Tests of what is not installed (torch, onnx, pyspark,
# chromium) are skipped. The test that is left out interrupts at any moment, and an interrupt inside of
# coverage leaves coverage's lock held.
coverage: $(VENV)/dev.stamp
	rm -rf build/coverage
	$(ONE_THREAD) $(BIN)/coverage run -m pytest $(PROCESSES) -m "" $(ARGS) --deselect \
	  tests/numerics/test_blas.py::test_an_interrupt_at_any_moment_restores_what_was
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet
	$(BIN)/coverage json --quiet -o build/coverage/report.json
	$(BIN)/python -m benchmarks.trust.branches

# Into build/docs. Warnings are errors, and every page is opened.
docs: $(VENV)/docs.stamp
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --jobs=auto docs build/docs
	$(BIN)/pytest tests/docs

# The notebooks of the gallery, in Jupyter's own kernel.
notebooks: docs
	$(PIP) install nbclient ipykernel
	$(BIN)/python docs/notebooks.py

# The sdist and the wheel, tested without a compiler and outside of this folder.
package: $(BIN)/python
	$(PIP) install build
	$(BIN)/python benchmarks/package.py

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/dev.stamp
	$(BIN)/quadfeat bench

accuracy: $(VENV)/dev.stamp
	$(BIN)/python benchmarks/accuracy.py

training: $(VENV)/dev.stamp
	$(BIN)/python benchmarks/training.py

# Fits by non-uniform FFTs of up to 1e8 rows, fits compared with their products and with peers, parts
# of a fit on a cluster; ARGS=--quick takes fewer rows.
scale: $(VENV)/dev.stamp
	$(BIN)/python benchmarks/scale.py $(ARGS)
	$(BIN)/python benchmarks/fit_limits.py $(ARGS)
	$(BIN)/python benchmarks/cluster.py $(ARGS)

# `make tables BEFORE=PYTHON` also runs the version that this interpreter has installed.
tables: $(VENV)/dev.stamp
	$(BIN)/python benchmarks/tables.py $(if $(BEFORE),--before $(BEFORE))

# `make effects PEERS=PYTHON` also runs EBM and pyGAM, in an interpreter with interpret and pygam.
effects: $(VENV)/dev.stamp
	$(BIN)/python benchmarks/effects.py $(if $(PEERS),--peers $(PEERS))

include sanitize.mk

clean:
	rm -rf $(VENV) build dist docs/generated docs/gallery .pytest_cache .mypy_cache .ruff_cache

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: $(BIN)/python pyproject.toml $(ENGINE)
	$(PIP) install -e ".[cli]"
	touch $@

$(VENV)/dev.stamp: $(BIN)/python pyproject.toml $(ENGINE)
	$(PIP) install -e ".[dev]"
	touch $@ $(VENV)/demo.stamp

$(VENV)/docs.stamp: $(BIN)/python pyproject.toml $(ENGINE)
	$(PIP) install -e ".[dev,docs]"
	touch $(VENV)/demo.stamp $(VENV)/dev.stamp $@
