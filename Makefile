# Two commands: `make demo` and `make test`. Each makes .venv when it is not there.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint bench torture docs release clean test-matrix scale soak

demo: .venv/installed
	$(BIN)/ifmixup compare MUTAG --models gcn gin --methods none ifmixup --config examples/demo.toml

test: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/installed
	for part in startup mixing epochs methods spent limits growth folds study; do \
		$(BIN)/python -W ignore benchmarks/$$part.py || exit 1; \
	done

torture: .venv/installed  # at most 90 minutes; benchmarks/torture.py --help says how to run a part
	OMP_NUM_THREADS=1 $(BIN)/python -W ignore benchmarks/torture.py

docs: .venv/installed
	$(BIN)/sphinx-build -W --keep-going -n -q -E docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

release: .venv/installed  # wheel and sdist in dist/, installed and tested in an empty environment
	$(BIN)/python tests/release.py

# What is not in CI: older versions and other Pythons, a million graphs, and hours of runs.
test-matrix:
	$(PYTHON) tests/matrix.py

scale: .venv/installed
	for part in stored_runs million ray_nodes molecule_tables; do \
		$(BIN)/python -W ignore benchmarks/$$part.py || exit 1; \
	done

soak: .venv/installed
	$(BIN)/python -W ignore benchmarks/soak.py

clean:
	rm -rf dist docs/_build docs/_generated .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

.venv/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@
