# make demo, make test: each does all the set-up on a fresh machine that has Python, make and git.
# TORCH=cpu takes PyTorch's own CPU build, so that nobody downloads CUDA for a demo on a laptop.

VENV := .venv
BIN := $(VENV)/bin
TORCH ?= default

.PHONY: demo test test-all setup setup-test lint lint-fast wheel golden torture simulate gym bench clean

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

torture: $(VENV)/ready-test
	$(BIN)/python tests/torture.py

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

setup: $(VENV)/ready
setup-test: $(VENV)/ready-test

$(VENV)/ready: requirements.txt pyproject.toml scripts/venv.sh
	sh scripts/venv.sh $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(if $(filter cpu,$(TORCH)),--index-url https://download.pytorch.org/whl/cpu,) torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

$(VENV)/ready-test: $(VENV)/ready requirements-test.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-test.txt
	@touch $@

# setuptools copies into build/ and never removes there, so that a renamed module would be in the wheel twice.
wheel: $(VENV)/ready
	rm -rf build
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
