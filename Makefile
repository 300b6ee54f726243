# Every target sets up what it needs; `make` alone prints them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help kernels demo serve docs notebooks wheel wheels library sdist-test oldest test lint types contract pytest java spark-ready spark-test \
  gpu-test fuzz soak lock release clean

help:  ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "gapgram needs Python 3.10 or later, and $(PYTHON) is `$(PYTHON) --version 2>&1`: say make PYTHON=python3.12"; exit 2; }
	@$(PYTHON) -m venv $(VENV)

# LOCKED=1: what is installed is what requirements.lock names, with its hashes.
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# What kernels are compiled from: `python -m compiler` builds what changed, and says nothing where nothing did.
KERNELS := $(shell find src/gapgram/kernels compiler -name '*.py' -o -name '*.[ch]')

$(VENV)/.build: pyproject.toml hatch_build.py | $(BIN)/python
	@echo "installing into $(VENV) what kernels are compiled with"
	@$(PIP) --upgrade pip $(if $(LOCKED),&& $(PIP) --require-hashes -r requirements.lock) && $(PIP) $$($(BIN)/python hatch_build.py)
	@touch $@

$(VENV)/.kernels: $(KERNELS) $(VENV)/.build
	@$(BIN)/python -m compiler
	@touch $@

$(VENV)/.core: pyproject.toml $(VENV)/.kernels
	@echo "installing gapgram into $(VENV)"
	@$(PIP) --no-build-isolation --editable '.[web]'
	@touch $@

$(VENV)/.test: pyproject.toml $(VENV)/.kernels
	@echo "installing gapgram and its test tools into $(VENV)"
	@$(PIP) --no-build-isolation --editable '.[test]'
	@touch $@ $(VENV)/.core $(VENV)/.docs

$(VENV)/.docs: pyproject.toml $(VENV)/.kernels
	@echo "installing gapgram and what its documentation is built with into $(VENV)"
	@$(PIP) --no-build-isolation --editable '.[docs]'
	@touch $@ $(VENV)/.core

$(VENV)/.spark: pyproject.toml | $(VENV)/.test
	@echo "installing PySpark into $(VENV)"
	@$(PIP) --upgrade setuptools && $(PIP) --no-build-isolation --editable '.[spark]'  # PySpark's sources are built with setuptools
	@touch $@

kernels: $(VENV)/.kernels  ## compile the kernels that changed

demo: $(VENV)/.core  ## the main job on text that ships with Python
	@$(BIN)/gapgram demo -o .demo

serve: $(VENV)/.core  ## the page, with the demo's models, at http://127.0.0.1:8000
	@test -f .demo/glm.model || $(BIN)/gapgram demo -o .demo
	@$(BIN)/gapgram serve .demo/mkn.model .demo/glm.model --text .demo/held-out.txt

docs: $(VENV)/.docs  ## the documentation as a site, strictly: build/docs/site/index.html
	@$(BIN)/python -m docs.site.build build/docs

notebooks: $(VENV)/.test  ## run the notebooks of the guide anew and store their output
	@$(BIN)/python -m docs.site.notebooks

test: $(VENV)/.test lint types contract pytest  ## everything that must pass: style, types, layers, tests

lint: $(VENV)/.test  ## ruff
	@$(BIN)/ruff check

types: $(VENV)/.test  ## mypy, strict
	@$(BIN)/mypy

contract: $(VENV)/.test  ## the layers of the architecture
	@$(BIN)/lint-imports --no-logo 2>/dev/null || $(BIN)/lint-imports

pytest: $(VENV)/.test  ## tests and doctests alone (TESTS=… for some of them)
	@$(BIN)/python -m pytest $(TESTS)

java:
	@command -v java >/dev/null || test -n "$$JAVA_HOME" || { \
	  echo "installing Java 17 from Debian's packages"; apt-get update -qq && apt-get install -y -qq openjdk-17-jre-headless >/dev/null; }

spark-ready: java $(VENV)/.spark

spark-test: spark-ready  ## the tests of the Spark engine; installs Java 17 (as root, on Debian) and PySpark
	@GAPGRAM_NEEDS_SPARK=1 $(BIN)/python -m pytest tests/counting/spark

wheel: $(VENV)/.build  ## a wheel for this machine, put into an empty environment: the demo, and the tutorial word for word
	@rm -rf build/wheel && mkdir -p build/wheel
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir build/wheel .
	@$(PYTHON) -m venv build/wheel/env
	@wheel=$$(ls build/wheel/*.whl) && build/wheel/env/bin/python -m pip install --quiet --disable-pip-version-check "$$wheel[prepare,web]"
	@cd build/wheel && env/bin/gapgram demo -o demo >demo.txt && echo "the demo runs from the wheel"
	@! $(BIN)/python -c 'import ziglang' 2>/dev/null || { \
	  cd build/wheel && env/bin/gapgram page demo/glm.model -q -o page.html && echo "a page can be made"; }
	@$(BIN)/python tests/support/walk.py docs/guide/tutorial.md --bin build/wheel/env/bin && echo "the tutorial can be followed"

PLATFORMS := manylinux_2_17_x86_64 manylinux_2_17_aarch64 macosx_11_0_arm64 macosx_11_0_x86_64 win_amd64

wheels: $(VENV)/.build  ## wheels for all systems, linked here, in build/wheels
	@$(PIP) ziglang build && mkdir -p build/wheels
	@for platform in $(PLATFORMS); do \
	  GAPGRAM_WHEEL=$$platform $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
	    --wheel-dir build/wheels . || exit 1; done
	@ls -l build/wheels/*.whl

release: $(VENV)/.test wheels  ## what is published, in build/wheels: wheels, sources, a bill of materials (CycloneDX), licences, sums
	@$(BIN)/python -m build --sdist --no-isolation --outdir build/wheels . >/dev/null
	@$(BIN)/python -m compiler.materials build/wheels && ls build/wheels

lock: $(BIN)/python  ## write requirements.lock anew
	@$(PIP) uv && printf 'numba==%s\nhatchling\nziglang\nbuild\n' \
	  $$(sed -n 's/^NUMBA = "\(.*\)".*/\1/p' compiler/__init__.py) >$(VENV)/build.in
	@$(BIN)/uv pip compile -q --universal --generate-hashes --python-version 3.10 --no-header --no-annotate --no-emit-index-url \
	  --extra test --extra spark pyproject.toml $(VENV)/build.in >$(VENV)/lock
	@{ head -1 requirements.lock; cat $(VENV)/lock; } >$(VENV)/lock.new && mv $(VENV)/lock.new requirements.lock

library: $(VENV)/.build  ## the library for C, for the systems of the wheels, and for WebAssembly: build/library
	@$(PIP) ziglang && $(BIN)/python -m compiler.library $(PLATFORMS) wasm

sdist-test: $(BIN)/python  ## make test, from nothing but the source distribution
	@rm -rf build/sdist && mkdir -p build/sdist
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	@$(BIN)/python -m build --sdist --outdir build/sdist . >/dev/null
	@cd build/sdist && tar xzf gapgram-*.tar.gz && cd gapgram-*/ && $(MAKE) test

oldest: $(VENV)/.build  ## the tests of models with the oldest NumPy that is allowed; needs Python 3.10 or 3.11
	@$(BIN)/python -m compiler && $(PYTHON) -m venv build/oldest
	@build/oldest/bin/python -m pip install --quiet --disable-pip-version-check 'numpy==1.24.*' 'pytest>=8' 'hypothesis>=6.100' \
	  click tqdm xxhash zstandard fastapi uvicorn
	@GAPGRAM_KERNELS= PYTHONPATH=src build/oldest/bin/python -m pytest \
	  $(or $(TESTS),tests/models tests/counts tests/estimation tests/classes tests/queries tests/kernels)

FUZZ_INPUTS ?= 20000
FUZZ := $(BIN)/python -m fuzz.run --seed 2 --inputs

fuzz: $(VENV)/.test  ## hostile files, requests, faults and kills for every reader; long (FUZZ_INPUTS=…)
	@echo "compiled kernels"; $(FUZZ) $(FUZZ_INPUTS)
	@echo "kernels as plain Python"; GAPGRAM_KERNELS=python $(FUZZ) $$(( $(FUZZ_INPUTS) / 20 ))
	@echo "kernels with bounds checks"; GAPGRAM_KERNELS=numba NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/checked-kernels \
	  $(FUZZ) $$(( $(FUZZ_INPUTS) / 10 ))
	@echo "kernels with bounds checks under AddressSanitizer"; $(BIN)/python -m fuzz.checked address --seed 2 --inputs $(FUZZ_INPUTS)
	@$(BIN)/python tests/models/kenlm/fuzz.py $$(( $(FUZZ_INPUTS) / 10 )) 2 tests/models/kenlm/*.bin
	@$(BIN)/python -m fuzz.faults
	@$(BIN)/python -m fuzz.kills

soak: $(VENV)/.test  ## a service asked for an hour, its memory watched
	@$(BIN)/python -m fuzz.soak

gpu-test: $(VENV)/.test  ## the tests of models on a graphics card; installs numba-cuda
	@$(PIP) --no-build-isolation --editable '.[cuda]'
	@$(BIN)/python -m pytest tests/cuda tests/adapters/test_fusion.py

clean:  ## remove the virtual environment and what tools left
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .demo build
