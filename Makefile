# Commands for daily use.
.PHONY: run test check format all

run: ## start the appliance from this clone
	sh deploy/run.sh

test: ## lint, types and the daily tests, about five minutes
	sh deploy/test.sh

all: ## every test, the slow ones too
	sh deploy/test.sh --all

check: ## lint and types alone, some seconds
	.venv-test/bin/ruff format --check .
	.venv-test/bin/ruff check .
	.venv-test/bin/mypy

format: ## format the code and sort the imports
	.venv-test/bin/ruff check --select I --fix .
	.venv-test/bin/ruff format .
