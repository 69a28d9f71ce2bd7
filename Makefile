# Everything a developer does here. `make` alone prints what there is.
# Needs Python 3.11 or newer, git and make; scripts/uv finds or fetches the rest.

SHELL := /bin/sh
UV := scripts/uv
RUN := $(UV) run --locked

.DEFAULT_GOAL := help
.PHONY: help setup check test test-postgres sim kills chaos demo demo-ramp bench docs clean

help: ## print this list
	@printf 'CampaignBridge: make <target>\n\n'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@printf '\nNew here? `make demo` shows what it is for, `make test` runs what CI runs.\n'

setup: ## make the environment from the lock file
	@$(UV) sync --locked

check: ## ruff, format, mypy, layers: seconds, no test runs
	@$(RUN) ruff check .
	@$(RUN) ruff format --check .
	@$(RUN) mypy
	@$(RUN) lint-imports --no-logo

test: ## everything CI runs: check, tests, PostgreSQL, simulation, kills
	@$(RUN) python scripts/run_tests.py

test-postgres: ## only the tests that need PostgreSQL
	@$(RUN) python scripts/run_tests.py postgres

sim: ## the deterministic simulation; SIM_SEED and SIM_CRASH replay one failure
	@PYTHONPATH=tests $(RUN) python -m sim

kills: ## real processes ended by signals at every named point
	@$(RUN) python scripts/run_tests.py kills

chaos: ## 50,000 jobs on each database, four workers killed at random for a minute
	@CAMPAIGNBRIDGE_CHAOS_JOBS=50000 CAMPAIGNBRIDGE_CHAOS_SECONDS=60 \
	  $(RUN) python -m pytest -q tests/crash/test_jobs_chaos.py

demo: ## one campaign, a killed worker, one delivery: no account needed
	@$(UV) run --locked --no-dev campaignbridge demo

demo-ramp: ## 45,000 people in five waves, a killed worker, a lost answer, a bad wave
	@$(UV) run --locked --no-dev campaignbridge demo --ramp

bench: ## measure; prints figures, asserts nothing
	@$(RUN) --group bench python -m benchmarks

docs: ## check that the documents agree with the tree and that their links lead somewhere
	@$(RUN) python -m pytest tests/tidy/test_documents.py

clean: ## remove environments, caches and local databases of tests; not campaigns.db
	@rm -rf .venv .venv-uv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
