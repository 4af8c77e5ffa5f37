# `make demo` sets up and runs the main job; `make test` sets up and runs the tests. Both are quick the second time.

PYTHON ?= python3
VENV := .venv
PEER := .venv-peer
BIN := $(VENV)/bin
ENV ?= echo_env

# The folders of this repository that are distributions: core first, then clients, then servers.
CLIENTS := $(sort $(wildcard clients/*/pyproject.toml))
SERVERS := $(sort $(wildcard envs/*/pyproject.toml))
LOCAL := $(foreach project,$(CLIENTS) $(SERVERS),-e ./$(dir $(project)))

.PHONY: demo test check serve bench format clean
.DEFAULT_GOAL := demo

$(VENV)/.run: pyproject.toml $(CLIENTS) $(SERVERS)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing the framework and the environments ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[server,cli]' $(LOCAL)
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@echo "installing what the tests need ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[server,cli,images,dev]' $(LOCAL)
	@touch $@

# The public package that we are compatible with, in an environment of its own: a peer for the interop tests.
$(PEER)/.ready:
	@test -x $(PEER)/bin/python || $(PYTHON) -m venv $(PEER)
	@echo "installing the public openenv package as a peer ..."
	@$(PEER)/bin/python -m pip install --quiet --disable-pip-version-check openenv==0.10.0
	@touch $@

demo: $(VENV)/.run
	@$(BIN)/openenv demo

serve: $(VENV)/.run
	@$(BIN)/openenv serve $(ENV)

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: $(VENV)/.dev $(PEER)/.ready check
	$(BIN)/pytest

bench: $(VENV)/.dev $(PEER)/.ready
	$(BIN)/python -m benchmarks.core

clean:
	rm -rf $(VENV) $(PEER) .mypy_cache .pytest_cache .ruff_cache .hypothesis
