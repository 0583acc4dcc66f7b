# Coterie. `make` alone prints this help.
PYTHON ?= python3
VENV := .venv
OLDEST := .venv-oldest
BIN := $(VENV)/bin
# Real logs for tests and benchmarks that can use them; they skip, saying so, where there are none.
export COTERIE_DATA ?= $(wildcard ../shared/data)
# Images of Python set it. Then each worker, and each process that a test starts, compiles all sources anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo kernels test test-all costs azurite test-browser test-spark test-spark-part bench-spark coverage test-oldest check lint types format docs site bench bench-small fuzz falsify freeze freeze-spark mutants clean

help: ## Print this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode -c constraints.txt -e '.[dev]'
	@touch $@

setup: $(VENV)/installed ## Install into .venv (then: .venv/bin/coterie)

demo: setup ## Run the main job on a synthetic log; open demo/report.html afterwards
	$(BIN)/coterie demo -o demo

kernels: setup ## Compile all kernels that changed: each is kept for all clones that have the same
	$(BIN)/coterie doctor --compile
	@touch $(VENV)/kernels

$(VENV)/kernels: $(VENV)/installed $(shell find src -path "*/kernels*" -name "*.py")
	@$(MAKE) --no-print-directory kernels

# Kernels first: else each of the workers that run tests compiles those that the others are compiling.
test: $(VENV)/kernels ## Run the tests that tests/costs.txt does not call expensive: some minutes
	COTERIE_EXAMPLES=$${COTERIE_EXAMPLES-5} $(BIN)/python -m pytest -n auto -m "not browser" --quick

test-all: $(VENV)/kernels ## Run all tests, but for those in a browser and on Spark: what CI runs
	$(BIN)/python -m pytest -n auto -m "not browser"

costs: $(VENV)/kernels ## Measure what each test costs, and write tests/costs.txt anew (as long as test-all)
	rm -rf .costs && mkdir .costs
	COTERIE_EXAMPLES=5 $(BIN)/python -m pytest -n auto -q -m "not browser" --costs=.costs
	$(BIN)/python -m tests.costs .costs

azurite: ## Install what plays Azure in tests, where there is npm
	-command -v npm >/dev/null && timeout 300 npm install --silent --no-audit --no-fund --no-save --prefix .azurite azurite@3

test-browser: setup ## Walk through the studio in Chromium; axe-core looks at every page where there is npm
	-command -v npm >/dev/null && npm install --silent --no-audit --no-fund --no-save --prefix .axe axe-core@4
	COTERIE_AXE=.axe $(BIN)/python -m pytest -q -m browser tests/browser

coverage: $(VENV)/kernels ## Run all tests and print the branches they leave out; fails below the floor
	$(BIN)/python -m pytest -n auto --cov -m "not browser" --cov-report=term:skip-covered --cov-fail-under=90

# The lowest versions that pyproject allows; made with `uv pip compile --resolution lowest-direct`.
$(OLDEST)/installed: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python -c constraints-oldest.txt -e '.[dev]'
	@touch $@

test-oldest: $(OLDEST)/installed ## Run the quicker tests with the oldest versions of everything
	$(OLDEST)/bin/python -m pytest -n auto --quick tests/unit tests/golden tests/test_conformance.py

# Spark itself, and Java from Debian where there is none and we may install it.
$(VENV)/spark: $(VENV)/installed
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[dev,spark]'
	@command -v java >/dev/null || { command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && apt-get update -qq && \
	  apt-get install -y -qq --no-install-recommends default-jre-headless >/dev/null; } || \
	  { echo "Spark needs Java: install default-jre-headless."; exit 1; }
	@touch $@

test-spark: $(VENV)/spark ## Run the tests on a real Spark cluster of two workers, which they start
	COTERIE_SPARK=1 $(BIN)/python -m pytest -q tests/spark

test-spark-part: $(VENV)/spark ## The part of them that CI runs: two methods and a killed executor
	COTERIE_SPARK=1 $(BIN)/python -m pytest -q tests/spark/test_part.py -k "not tsv"

bench-spark: $(VENV)/spark ## CPU seconds and memory of local runs and of Spark on the same file
	$(BIN)/python benchmarks/bench_spark.py

lint: setup ## Check format and lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: setup ## Check types
	$(BIN)/mypy

format: setup ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: setup ## Regenerate the generated parts of README.md and docs/, and what commands in them print
	$(BIN)/python tools/generate_docs.py

$(VENV)/site: $(VENV)/installed
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[dev,docs]'
	@touch $@

site: $(VENV)/site ## Build the documentation site: site/index.html, which needs no server and no network
	$(BIN)/python tools/build_site.py site

freeze: setup ## Compare what the package does and can do with tests/freeze; for the time of a rebuilding
	$(BIN)/python tools/freeze.py

freeze-spark: $(VENV)/spark ## The part of it that a cluster can do
	$(BIN)/python tools/freeze.py --spark

check: lint types test-all ## Format, lint, types, tests, docs: what CI runs

bench: setup ## Print the benchmark tables (36 million rows; some minutes, 10 GB of disk)
	$(BIN)/python benchmarks/bench.py
	$(BIN)/python benchmarks/bench_microaggregate.py --sizes 10000,100000
	$(BIN)/python benchmarks/bench_semantic.py --sizes 10000,100000
	$(BIN)/python benchmarks/bench_taxonomy.py
	$(BIN)/python benchmarks/bench_interest.py --users 10000,65000,657000
	$(BIN)/python benchmarks/bench_concept.py
	$(BIN)/python benchmarks/bench_generalize.py
	$(BIN)/python benchmarks/bench_documents.py
	$(BIN)/python benchmarks/bench_visits.py
	$(BIN)/python benchmarks/bench_simulate.py
	$(BIN)/python benchmarks/bench_peer.py
	$(BIN)/python benchmarks/bench_gate.py --rows 20000000 --lines 2000000 --distinct 10000000
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[dev,bench]'
	$(BIN)/python benchmarks/bench_affinity.py --users 650000
	$(BIN)/python benchmarks/bench_allowlist.py
	-$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[dev,bench-private]'
	$(BIN)/python benchmarks/bench_private.py --users 650000

bench-small: setup ## The same on one million rows
	$(BIN)/python benchmarks/bench.py --users 18000
	$(BIN)/python benchmarks/bench_microaggregate.py
	$(BIN)/python benchmarks/bench_semantic.py
	$(BIN)/python benchmarks/bench_taxonomy.py --queries 100000 --categories 100000
	$(BIN)/python benchmarks/bench_interest.py
	$(BIN)/python benchmarks/bench_concept.py
	$(BIN)/python benchmarks/bench_generalize.py --queries 100000
	$(BIN)/python benchmarks/bench_documents.py --plain 6 --large 5000
	$(BIN)/python benchmarks/bench_visits.py --users 8000
	$(BIN)/python benchmarks/bench_simulate.py --nodes 100000 --events 1000000
	$(BIN)/python benchmarks/bench_peer.py --queries 300
	$(BIN)/python benchmarks/bench_gate.py
	$(BIN)/python benchmarks/bench_private.py

fuzz: setup ## Feed each parser 100,000 damaged files (hours; FUZZ="--count 5000 jsonl" for fewer)
	$(BIN)/python tools/fuzz.py $(FUZZ)

falsify: setup ## Look for logs that a differentially private release tells apart, and in eight broken variants (some ten minutes)
	COTERIE_FALSIFY=1 $(BIN)/python -m pytest -q tests/unit/testing/test_check_private.py

mutants: setup ## Change the code of promises, releasing and randomness in many places, and list the changes no test notices
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[dev,mutants]'
	$(BIN)/python tools/mutants.py

clean: ## Remove what make made
	rm -rf $(VENV) $(OLDEST) demo site .pytest_cache .mypy_cache .ruff_cache
