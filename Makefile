# Everything happens in .venv, made on first use. Needs Python >= 3.11 and pip, nothing else.
PYTHON ?= python3
BIN := .venv/bin
SETUP := .venv/.ready
DEV := .venv/.ready-dev
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock

.PHONY: serve test check setup verify bench soak new format clean

serve: $(SETUP)        ## the site on http://127.0.0.1:8000, or on PORT=...
	@$(BIN)/reprobase serve $(if $(PORT),--port $(PORT))

setup: $(SETUP)        ## only the installation

$(SETUP): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Reprobase needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try `make PYTHON=python3.12 $(MAKECMDGOALS)`.")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing into .venv (torch is large; this is done once) ..."
	@$(PIP) -e .
	@$(BIN)/python -m compileall -q app  # the first command need not do it
	@touch $@

$(DEV): $(SETUP)
	@$(PIP) -e '.[dev,kernels,ray]'
	@touch $@

test: $(DEV)         ## everything the tests need, then the tests
	$(BIN)/python -m pytest -n 2 --dist loadgroup $(ARGS)

check: $(DEV)        ## lint, format, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(DEV)
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

verify: $(SETUP)       ## runs every reproducer on every release, writes data/evidence/
	$(BIN)/reprobase verify --on all

bench: $(SETUP)        ## ratios against named peers, one script each
	@$(PIP) -e '.[bench]'
	@for script in $(filter-out $(wildcard benchmarks/soak*.py),$(wildcard benchmarks/*.py)); do echo "== $$script"; $(BIN)/python $$script || exit 1; done

MINUTES ?= 60
soak: $(DEV)         ## ten minutes of load by 32, then by 512; an hour each of odd wheels, logs, requests; not for CI
	@$(PIP) -e '.[soak]'
	$(BIN)/python benchmarks/soak.py
	$(BIN)/python benchmarks/soak_fuzz.py --seconds $$(($(MINUTES) * 60))

new: $(SETUP)          ## begin to explain an error: make new ID=1234567890abcdef SLUG=what-is-found
	@$(BIN)/python -m app.services.skeleton $(ID) $(SLUG)

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
