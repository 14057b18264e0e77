# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# make setup   everything that R3 needs: Debian packages, .venv, R3 itself with its native parts
# make demo    a mini-app built, recorded, replayed, tuned and reported
# make test    ruff, mypy, all tests (those that need a GPU are skipped where there is none)
# make lint    what pre-commit checks
# make docs    the documentation as a site, in build/site
# make clean   removes what was built; .venv stays

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
LLVM := /usr/lib/llvm-22/bin
export PATH := $(CURDIR)/$(VENV)/bin:$(LLVM):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Some containers forbid compiled modules to be kept: each of the hundreds of `r3` that tests start would compile R3 anew.
export PYTHONDONTWRITEBYTECODE :=
# Nothing of the user's own settings reaches demo or tests.
unexport R3_STORE R3_DEVICE R3_CONFIG R3_PREFIX

QUIET := --quiet --quiet
# One more than there are cores: tests wait for deadlines, too.
WORKERS := $(shell expr $$(nproc) + 1)
HAS_GPU := $(wildcard /dev/nvidia0)
comma := ,
EXTRAS := dev,toolchain,remix,farm,report,docs$(if $(HAS_GPU),$(comma)cuda)
# Not the tests: their RUN lines have to stay on one line.
FORMATTED := benchmarks examples passes record_runtime wrappers
NATIVE_SOURCES := $(shell find CMakeLists.txt pyproject.toml cmake wrappers passes record_runtime -type f)

.PHONY: help setup demo test lint docs clean

help:
	@sed -n 's/^# make/make/p' Makefile

setup: $(VENV)/.installed

$(VENV)/.system-packages: scripts/install_system_packages.sh
	scripts/install_system_packages.sh
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "setup: Python 3.11 or newer is needed; set PYTHON")'
	@mkdir -p $(VENV)
	@touch $@

# What the native build needs comes first; without isolation one build folder stays, which makes a rebuild short.
$(VENV)/.build-tools: $(VENV)/.system-packages scripts/requirements.py pyproject.toml
	[ -x $(VENV)/bin/python ] || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python scripts/requirements.py toolchain > $@.txt
	$(VENV)/bin/python -m pip install $(QUIET) -r $@.txt
	$(VENV)/bin/python scripts/link_cuda_wheels.py
	@touch $@

$(VENV)/.installed: $(VENV)/.build-tools scripts/link_cuda_wheels.py $(NATIVE_SOURCES)
	$(VENV)/bin/python -m pip install $(QUIET) --no-build-isolation --editable '.[$(EXTRAS)]'
	@touch $@

demo: setup
	scripts/demo.sh

$(VENV)/.test-packages: scripts/install_system_packages.sh
	scripts/install_system_packages.sh test
	@mkdir -p $(VENV)
	@touch $@

test: $(VENV)/.test-packages setup
	ruff check .
	ruff format --check .
	mypy
	pytest -n $(WORKERS) --dist loadgroup --hypothesis-profile ci </dev/null

lint: setup
	ruff check .
	ruff format --check .
	mypy
	git ls-files $(FORMATTED) | grep -E '\.(h|cpp|cu)$$' | xargs clang-format-22 --dry-run --Werror

docs: setup
	NO_MKDOCS_2_WARNING=1 mkdocs build

clean:
	rm -rf build
