# Every target sets up what it needs in .venv, from nothing but Python 3.11+ and make.
#
#   make test ARGS="-k winnow"      arguments for the tool behind the target
#   make bench DATA=folder          benchmarks on the data sets in that folder, too
#   make demo PYTHON=python3.13     which Python makes .venv (looked at only when there is none yet)

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

# The tests start many processes, none of which should compile the package's modules again.
unexport PYTHONDONTWRITEBYTECODE

# The first tests compile what the others need: they are shared out by few, so that no two processes compile the same. Tests of
# clusters and services mostly wait, so that `make test` has one process more than the two processors that it is meant for.
PROCESSES := --maxschedchunk 4

# The first Python that is new enough and able to make a virtual environment.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

.PHONY: help demo test fast lint docs bench build clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.base  ## train on real mails, show what was learned and proved, and write a report
	@$(BIN)/rosenblatt demo $(ARGS)

test: $(VENV)/.dev  ## all tests; those of the lab and the service want Chromium and PostgreSQL, which root installs on Debian
	@command -v chromium >/dev/null && ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || \
		{ test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update --quiet --quiet && \
		DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --quiet chromium postgresql >/dev/null; } || true
	@$(BIN)/pytest $(PROCESSES) -n 3 $(ARGS)

fast: $(VENV)/.dev  ## the quick tests, with a tenth of the random examples, in under a minute
	@ROSENBLATT_TESTS=fast $(BIN)/pytest $(PROCESSES) -n 2 -m "not slow" $(ARGS)

lint: $(VENV)/.dev  ## style, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.docs  ## the documentation, in build/docs
	@$(BIN)/sphinx-build -W --keep-going -q -b html docs build/docs $(ARGS)
	@echo "build/docs/index.html"

bench: $(VENV)/.bench  ## speed, side by side with other libraries
	@$(BIN)/python -m benchmarks $(if $(DATA),--data "$(DATA)") $(ARGS)

build: $(VENV)/.build  ## wheel and source distribution, in dist, each tried out in an empty environment
	@rm -rf dist
	@$(BIN)/python -m build
	@$(BIN)/python tools/check_distribution.py dist $(ARGS)

clean:  ## remove everything that was made, .venv too
	rm -rf $(VENV) build dist rosenblatt-demo docs/gallery .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests tools benchmarks docs examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# What each target needs: made once, and again when pyproject.toml changes.

$(VENV)/.made:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later with its venv module was not found; name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version)" >&2
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# Python compiles what it imports; compiling everything that is installed would take longer than the demo itself.
$(VENV)/.base: pyproject.toml | $(VENV)/.made
	@echo "Installing rosenblatt into $(VENV); the first time takes a minute" >&2
	@$(PIP) install --no-compile --editable '.[plots]'
	@touch $@

$(VENV)/.dev $(VENV)/.bench $(VENV)/.docs: $(VENV)/.%: pyproject.toml | $(VENV)/.made
	@echo "Installing rosenblatt[$*] into $(VENV); the first time takes a minute" >&2
	@$(PIP) install --editable '.[$*]'
	@touch $(VENV)/.base $@

$(VENV)/.build: pyproject.toml | $(VENV)/.made
	@$(PIP) install build
	@touch $@
