# Needs python3, git and make. `make demo` needs no more; the rest sets up .venv once.

PYTHON ?= python3
BIN = .venv/bin

.PHONY: help demo check bench clean

help:
	@echo 'make demo    see a note go from project-a to project-b, in a throw-away home'
	@echo 'make check   format, lint, types, tests: the gate'
	@echo 'make bench   how fast, beside the same protocol in plain shell'
	@echo 'make clean   remove what these left here'

demo:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 9))' || \
	  { echo 'make demo: $(PYTHON) is missing or older than 3.9; try: make demo PYTHON=/path/to/python3'; exit 1; }
	@A2A_PYTHON="$$($(PYTHON) -c 'import sys; print(sys.executable)')" sh tools/demo

.venv/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'make: $(PYTHON) is missing or older than 3.11; try: make check PYTHON=/path/to/python3'; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo 'make: $(PYTHON) has no venv module; try: sudo apt install python3-venv'; exit 1; }
	$(PYTHON) -m venv --clear .venv
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@

check: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2

bench: .venv/ready
	@$(BIN)/python -m bench

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
