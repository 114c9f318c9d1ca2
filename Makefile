# Every target installs its tools in .venv; only Python 3.11+ and make are needed.
#
#   make test ARGS="-k winnow"      arguments for the tool of the target
#   make bench DATA=folder          run the benchmarks on the data sets in that folder, too
#   make build PLATFORMS=all        wheels for all platforms; or some, such as PLATFORMS="linux-aarch64 windows-x86_64"
#   make demo PYTHON=python3.13     the Python for .venv (used only if .venv does not exist yet)

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet
ARGS ?=
DATA ?=
PLATFORMS ?=

ALL_PLATFORMS := linux-x86_64 linux-aarch64 macos-x86_64 macos-aarch64 windows-x86_64

# The tests start many processes; without bytecode files each would compile the modules of the package again.
unexport PYTHONDONTWRITEBYTECODE

# The first tests compile the loops for the others: with small chunks no two processes compile the same loop. Tests of
# clusters and services mostly wait, so `make test` uses three processes for two processors.
PROCESSES := --maxschedchunk 4

# The first Python that is new enough and can make a virtual environment.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

# Each package by itself: Node from elsewhere conflicts with Debian's npm, which must not keep Chromium away.
APT_PACKAGES = wanted=; \
	command -v chromium >/dev/null || wanted="$$wanted chromium"; \
	command -v npm >/dev/null || wanted="$$wanted npm"; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || wanted="$$wanted postgresql"; \
	test -z "$$wanted" || { apt-get update --quiet --quiet && for package in $$wanted; do \
	DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --quiet $$package >/dev/null; done; } || true

.PHONY: help demo test minimums fast lint docs bench build clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.base  ## train on real mails, show the model and its proofs, and write a report
	@$(BIN)/rosenblatt demo $(ARGS)
	@$(BIN)/python -m rosenblatt.aot --background

test: $(VENV)/.dev  ## all tests; as root on Debian, installs Chromium, Node and PostgreSQL for the tests of the lab and the service
	@if test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then $(APT_PACKAGES); fi
	@$(BIN)/python -m rosenblatt.aot || true
	@$(BIN)/pytest $(PROCESSES) -n 3 $(ARGS)

# River comes last, because it needs newer versions of other packages.
minimums: pyproject.toml tools/minimums.py  ## tests of every part with the oldest version of every dependency
	@test -n "$(PYTHON)" && $(PYTHON) -m venv --clear .minimums
	@$(PYTHON) tools/minimums.py dev > .minimums/constraints.txt
	@.minimums/bin/python -m pip --disable-pip-version-check --quiet --quiet install --constraint .minimums/constraints.txt \
		--editable '.[all]' hypothesis onnxruntime pandas polars pytest
	@.minimums/bin/python -m pytest -o addopts= --import-mode=importlib -W ignore::DeprecationWarning -k "not schemathesis" \
		$(or $(ARGS),$(MINIMUMS))
	@.minimums/bin/python -m pip --disable-pip-version-check --quiet --quiet install $$(grep river .minimums/constraints.txt)
	@.minimums/bin/python -m pytest -o addopts= --import-mode=importlib -W ignore::DeprecationWarning tests/test_river.py

MINIMUMS = $(addprefix tests/,test_drop_in.py test_every_learner.py test_exports.py test_labels.py test_model_file.py \
	test_one_vs_rest.py test_plots.py test_rows.py test_rules.py data theory cli/test_choice.py cli/test_compare.py \
	cli/test_export.py cli/test_words.py dask/test_mixing.py lab/test_requests.py serve/test_client.py serve/test_http.py \
	serve/test_records.py serve/test_stores.py serve/test_tracing.py)

fast: $(VENV)/.dev  ## the quick tests, with a tenth of the random examples, in under a minute
	@ROSENBLATT_TESTS=fast $(BIN)/pytest $(PROCESSES) -n 2 -m "not slow" $(ARGS)

lint: $(VENV)/.dev  ## style, types, the direction of imports and the number of files of a fit
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/files_of_a_fit.py --at-most 18

docs: $(VENV)/.docs  ## the documentation, in build/docs
	@$(BIN)/sphinx-build -W --keep-going -q -b html docs build/docs $(ARGS)
	@echo "build/docs/index.html"

bench: $(VENV)/.bench  ## benchmarks, compared with other libraries
	@$(BIN)/python -m benchmarks $(if $(DATA),--data "$(DATA)") $(ARGS)

build: $(VENV)/.build  ## wheel and source distribution, in dist, each tested in an empty environment
	@rm -rf dist
	@$(BIN)/python -m build
	@this=$$($(BIN)/python tools/check_distribution.py --platform); \
	for platform in $(if $(filter all,$(PLATFORMS)),$(ALL_PLATFORMS),$(PLATFORMS)); do \
		test $$platform = $$this || ROSENBLATT_BUILD_FOR=$$platform $(BIN)/python -m build --wheel; done
	@$(BIN)/python tools/check_distribution.py dist $(ARGS)

clean:  ## remove all generated files and .venv
	rm -rf $(VENV) .minimums build dist rosenblatt-demo docs/gallery .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests tools benchmarks docs examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The environment of each target: made once, and again when pyproject.toml changes.

$(VENV)/.made:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later with its venv module was not found; name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version)" >&2
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# Python compiles modules on import; compiling everything at installation would take longer than the demo.
$(VENV)/.base: pyproject.toml | $(VENV)/.made
	@echo "Installing rosenblatt into $(VENV); the first time takes a minute" >&2
	@$(PIP) install --no-compile --editable '.[plots,rules]'
	@touch $@

$(VENV)/.dev $(VENV)/.bench $(VENV)/.docs: $(VENV)/.%: pyproject.toml | $(VENV)/.made
	@echo "Installing rosenblatt[$*] into $(VENV); the first time takes a minute" >&2
	@$(PIP) install --editable '.[$*]'
	@touch $(VENV)/.base $@

$(VENV)/.build: pyproject.toml | $(VENV)/.made
	@$(PIP) install build
	@touch $@
