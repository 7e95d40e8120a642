# Needs python3, git and make. `make demo` needs no more; the rest sets up .venv once.

PYTHON ?= python3
BIN = .venv/bin
# Not the commands in $(BIN): those name their interpreter by its path, and a checkout may move or have blanks in it.
RUN = $(BIN)/python -m
# The client that check-client drives; a version, for npm's latest may be another one tomorrow.
CLIENT = 2.1.332

.PHONY: help demo check check-client bench clean

help:
	@echo 'make demo    a note goes to another repo'
	@echo 'make check   format, lint, types, tests'
	@echo 'make check-client'
	@echo '             tests on the real Claude Code'
	@echo 'make bench   how fast, beside plain shell'
	@echo 'make clean   remove what these left here'

demo:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || \
	  { echo 'make demo: $(PYTHON) is missing or older than 3.9; try: make demo PYTHON=/path/to/python3' >&2; exit 1; }
	@$(PYTHON) tools/demo.py

# An environment that works is kept. Its pip is renewed, for the commands that an old one makes import re at each start.
.venv/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo 'make: $(PYTHON) is missing or older than 3.11; try: make check PYTHON=/path/to/python3' >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo 'make: $(PYTHON) has no venv module; try: sudo apt install python3-venv' >&2; exit 1; }
	@echo 'make: setting up .venv, once'
	@$(RUN) pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	@$(RUN) pip install --quiet --disable-pip-version-check --upgrade pip && \
	  $(RUN) pip install --quiet --editable '.[dev]' || \
	  { echo 'make: what the checks need could not be installed; try: $(RUN) pip install -e ".[dev]"' >&2; exit 1; }
	@touch $@

check: .venv/ready
	@$(RUN) ruff format --check .
	@$(RUN) ruff check .
	@$(RUN) mypy
	@$(RUN) pytest -n 2 --ignore tests/client

build/client/$(CLIENT):
	@echo 'make: fetching Claude Code $(CLIENT) from npm into build/client, once'
	@npm install --silent --no-audit --no-fund --prefix build/client @anthropic-ai/claude-code@$(CLIENT) || \
	  { echo 'make: npm could not install the client; try: npm ping' >&2; exit 1; }
	@touch $@

# It runs offline, against a model of its own on this machine.
check-client: .venv/ready build/client/$(CLIENT)
	@$(RUN) pytest -n 2 tests/client

bench: .venv/ready
	@$(RUN) bench

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
