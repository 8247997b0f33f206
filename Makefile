# Commands for daily use.
.PHONY: run test check format tables all wheels deb archive

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

tables: ## write the tables of keys and of operations into docs/
	.venv-test/bin/python -m tests.doc_tables

wheels: ## wheels with compiled puzzle kernels, in dist/wheels/
	sh deploy/wheels.sh

deb: ## the Debian package for this machine's Debian and architecture, in dist/
	sh deploy/deb.sh

archive: ## the archive of a release with the wheels there are, for "pi-appliance update FILE"
	version=$$(sed -n 's/^__version__ = "\(.*\)"$$/\1/p' pi_appliance/__init__.py); mkdir -p dist && \
	set -- && for file in dist/wheels/*; do \
	    [ ! -e "$$file" ] || set -- "$$@" --prefix="pi-appliance-$$version/dist/wheels/" --add-file="$$file"; done && \
	git archive "$$@" --prefix="pi-appliance-$$version/" --output "dist/pi-appliance-$$version.tar.gz" HEAD && \
	sha256sum "dist/pi-appliance-$$version.tar.gz"
