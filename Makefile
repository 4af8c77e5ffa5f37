# `make demo` sets up and runs the main job; `make test` sets up and runs the tests. Both are quick the second time.

PYTHON ?= python3
VENV := .venv
PEER := .venv-peer
TRL := .venv-trl
BIN := $(VENV)/bin
ENV ?= echo_env
# What the training tests train with. A CPU build is enough; name another requirement to train on a GPU.
TORCH ?= torch==2.13.0
OLDEST_TRL := trl==1.8.0

# The folders of this repository that are distributions: the clients, then the servers.
PROJECTS := $(sort $(wildcard clients/*/pyproject.toml)) $(sort $(wildcard envs/*/pyproject.toml))
LOCAL := $(foreach project,$(PROJECTS),-e ./$(dir $(project)))
PIP := -m pip install --quiet --disable-pip-version-check

.PHONY: demo test check serve bench train-demo format clean
.DEFAULT_GOAL := demo

$(VENV)/.run: pyproject.toml $(PROJECTS)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing the framework and the environments ..."
	@$(BIN)/python $(PIP) -e '.[server,cli,images]' $(LOCAL)
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@echo "installing what the tests need ..."
	@$(BIN)/python $(PIP) -e '.[server,cli,images,gymnasium,mcp,dev]' $(LOCAL)
	@touch $@

# Looks for a browser each time; that is quick where there is one.
.PHONY: browser
browser: $(VENV)/.run
	@$(BIN)/openenv install-browser

# The public package that we are compatible with, in an environment of its own: a peer for the interop tests.
$(PEER)/.ready:
	@test -x $(PEER)/bin/python || $(PYTHON) -m venv $(PEER)
	@echo "installing the public openenv package as a peer ..."
	@$(PEER)/bin/python $(PIP) openenv==0.10.0
	@touch $@

# TRL and torch are large, and only training needs them.
$(TRL)/.ready: pyproject.toml $(PROJECTS)
	@test -x $(TRL)/bin/python || $(PYTHON) -m venv $(TRL)
	@echo "installing TRL and torch for the training tests ..."
	@$(TRL)/bin/python $(PIP) '$(TORCH)'
	@$(TRL)/bin/python $(PIP) -e '.[server,cli,training]' $(LOCAL) aiohttp
	@touch $@

# The oldest TRL that is supported, in front of the newest one: only itself and what it needs beside that one's packages.
$(TRL)/oldest/.ready: $(TRL)/.ready
	@echo "installing the oldest TRL that is supported ..."
	@$(TRL)/bin/python $(PIP) --no-deps --upgrade --target $(TRL)/oldest '$(OLDEST_TRL)' jmespath
	@touch $@

demo: browser
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

# The tests of the images take a container engine: the machine's own or, as root on Debian, one of their own meanwhile.
# `make engine` leaves that running, and `docker/engine.sh down` stops it.
.PHONY: engine
engine:
	@docker/engine.sh up

test: check browser $(PEER)/.ready $(TRL)/.ready $(TRL)/oldest/.ready
	@docker/engine.sh run $(BIN)/pytest -n auto --maxprocesses 4 --dist loadscope --no-loadscope-reorder || { \
	  echo "what failed is run once more: on a busy machine a limit of time may have been too short;"; \
	  echo "what fails twice is broken, and what fails once is worth a look."; \
	  docker/engine.sh run $(BIN)/pytest --last-failed --last-failed-no-failures none; }

bench: $(VENV)/.dev $(PEER)/.ready
	$(BIN)/python -m benchmarks.core
	$(BIN)/python -m benchmarks.games

train-demo: $(TRL)/.ready
	@$(TRL)/bin/python -m openenv_core.training.demo

# All distributions get one version: make version VERSION=1.2.0
.PHONY: version
version:
	@$(PYTHON) scripts/set_version.py $(VERSION)

# Wheels and source distributions of all of them, in dist/.
.PHONY: build-packages
build-packages: $(VENV)/.dev
	@rm -rf dist
	@for project in . $(dir $(PROJECTS)); do $(BIN)/python -m build --outdir dist $$project || exit 1; done
	@$(BIN)/python -m twine check --strict dist/*

clean:
	rm -rf $(VENV) $(PEER) $(TRL) .mypy_cache .pytest_cache .ruff_cache .hypothesis
