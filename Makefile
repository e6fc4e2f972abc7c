# make demo, make test: each does all the set-up on a fresh machine that has Python, make and git.
# TORCH=cpu takes PyTorch's own CPU build, so that nobody downloads CUDA for a demo on a laptop.

VENV := .venv
DOCS := .venv-docs
BIN := $(VENV)/bin
TORCH ?= default

.PHONY: demo test test-all setup setup-test lock audit lint lint-fast wheel golden torture damage fuzz simulate gym bench docs clean

demo: $(VENV)/ready
	$(BIN)/passus demo

# Rooms whose types are strict.
STRICT := $(addprefix src/passus/,stats analysis runs figures methods config grading page interop/importers)

PYTEST := $(BIN)/pytest -n 2 --dist worksteal

# At most 4 minutes on two cores. test-all adds the tests marked slow and takes at most 20.
test: $(VENV)/ready-test lint-fast
	$(PYTEST) -m "not slow"
	@echo
	@echo "Try these:"
	@echo "  $(BIN)/passus --help"
	@echo "  $(BIN)/passus run families --dry-run"
	@echo "  $(BIN)/passus eval nano/qwen3 --suite abacus/add2"

test-all: $(VENV)/ready-test lint
	$(PYTEST)

# Strict types take half a minute more without a cache, so that test leaves them to test-all.
lint: lint-fast
	$(BIN)/mypy --strict --cache-dir .mypy_cache/strict $(STRICT)

lint-fast: $(VENV)/ready-test
	$(BIN)/ruff check src tests scripts
	$(BIN)/ruff format --check src tests scripts
	$(BIN)/mypy
	$(BIN)/lint-imports

# Compares what HEAD and the commit in tests/golden/BASE record for the same small experiments, bit for bit.
golden: $(VENV)/ready-test
	$(BIN)/python scripts/golden.py

# 1,000 kills in some hours; it goes on where it was stopped, and writes bench/cpu-2-cores/torture.md.
torture: $(VENV)/ready-test
	$(BIN)/python tests/torture.py 1000 --work runs/torture --out bench/cpu-2-cores/torture.md

# Damages 2,000 run folders, resumes them and reads them with every command, in about an hour.
damage: $(VENV)/ready-test
	$(BIN)/python scripts/damage.py --tries 2000 --work runs/damage.jsonl --out bench/cpu-2-cores/damage.md

# 5,000 mutated files of every kind that passus reads.
fuzz: $(VENV)/ready-test
	$(BIN)/python scripts/fuzz.py --tries 5000

# Makes the tables of docs/simulations.md that docs/simulations.json lacks, in some hours on two cores (docs/analysis.md).
simulate: $(VENV)/ready-test
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python scripts/simulate.py

# Trains the collection of runs with known faults, and calibrates and scores the diagnosis (docs/diagnosis.md), in some hours.
gym: $(VENV)/ready-test
	$(BIN)/python scripts/gym.py run --out runs/gym
	$(BIN)/python scripts/gym.py reduce runs/gym
	$(BIN)/python scripts/gym.py calibrate
	$(BIN)/python scripts/gym.py score

# Measures speed beside the numbers recorded for such a machine (docs/speed.md). Nothing else should run meanwhile.
bench: $(VENV)/ready-test
	$(BIN)/python scripts/bench.py

# The documentation as a site in site/, whose pages open from the disk; only the search needs a server. A link that leads nowhere
# fails it.
docs: $(DOCS)/ready
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict
	@echo "open site/index.html, or: python3 -m http.server --bind 127.0.0.1 --directory site"

# Writes requirements.lock and requirements-test.lock anew.
lock:
	sh scripts/lock.sh

# Looks all locked packages up in a database of known vulnerabilities, where a network allows it.
audit:
	[ -x .venv-audit/bin/pip-audit ] || { python3 -m venv .venv-audit && .venv-audit/bin/python -m pip install --quiet pip-audit==2.10.1; }
	.venv-audit/bin/pip-audit --require-hashes --no-deps --disable-pip -r requirements.lock -r requirements-test.lock

setup: $(VENV)/ready
setup-test: $(VENV)/ready-test

# All but torch is installed from the locks, with the hashes of its files.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

$(VENV)/ready: Makefile requirements.lock pyproject.toml scripts/venv.sh
	sh scripts/venv.sh $(VENV)
	$(PIP) $(if $(filter cpu,$(TORCH)),--index-url https://download.pytorch.org/whl/cpu,) torch==2.13.0
	$(PIP) --require-hashes --no-deps -r requirements.lock
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(DOCS)/ready: requirements-docs.txt
	python3 -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-docs.txt
	@touch $@

$(VENV)/ready-test: $(VENV)/ready requirements-test.lock
	$(PIP) --require-hashes --no-deps -r requirements-test.lock
	@touch $@

# setuptools copies into build/ and never removes there, so that a renamed module would be in the wheel twice.
wheel: $(VENV)/ready
	rm -rf build
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .

clean:
	rm -rf $(VENV) $(DOCS) .venv-lock .venv-audit site build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
