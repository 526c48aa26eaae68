# make demo | test | lint | slow | bench | compare-commits | scale | docs | clean
# All packages are in one virtual environment; stamp files in it record the installed sets of packages.

VENV   ?= .venv
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v "$$p" && break; done)
BIN    := $(VENV)/bin
DEMO   ?= models/capacity_planning/scenarios/gavel_40_jobs.gsm
COMPARED ?= models/capacity_planning/scenarios/gavel_at_most.gsm
REPLAYED ?= models/trace_replay/scenarios/philly_sample.gsm --scenario PhillyNodes

.DEFAULT_GOAL := help
.PHONY: help demo test slow lowest interpreters lint bench compare-commits scale tables docs pictures playground clean

help:
	@echo "make demo    solve a scenario of a public trace, print its schedule, compare heuristics, replay a trace"
	@echo "make test    run the tests"
	@echo "make slow    run the long tests: properties, fuzzing, scale"
	@echo "make lowest  run a part of the tests with the lowest allowed versions of the dependencies"
	@echo "make interpreters  run that part with every Python in PYTHONS, 3.11 or later"
	@echo "make lint    ruff, mypy for Linux, Windows and macOS, and the balance of lines"
	@echo "make bench   run the benchmarks and print their tables"
	@echo "make compare-commits BASE=REV   run our own benchmarks with an earlier commit and with this one, print ratios"
	@echo "make scale   solve large instances, print the results, plot time and memory by size"
	@echo "make tables  recompute the parse tables, after a change of the grammar"
	@echo "make docs    regenerate the pages made from models, grammar and code, and build the site in build/site"
	@echo "make playground  build the playground of the site from packages of npm; before make docs"
	@echo "make pictures  draw the pictures of the gallery again"
	@echo "make clean   remove the virtual environment, caches and build leftovers"

demo: $(VENV)/.has-run
	$(BIN)/gsdsl solve $(DEMO)
	@printf "\nThe same jobs by heuristics (the first run compiles their kernels):\n\n"
	$(BIN)/gsdsl compare $(COMPARED) --methods highs,FIFO,EDF,Greedy,RandomisedGreedy
	@printf "\nTwo weeks of a public trace, replayed with two queues:\n\n"
	$(BIN)/gsdsl run $(REPLAYED) --methods FIFO,SJF

test: $(VENV)/.has-dev
	$(BIN)/python -m pytest -n 2 -q

slow: $(VENV)/.has-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal -q --durations 40 -m slow

# The tests that depend on versions of packages: data, solvers, kernels, Python interface.
VERSIONED := tests/data tests/ir tests/backends tests/conformance tests/policies/kernels tests/api/test_api.py \
	tests/api/test_api_check.py tests/api/test_pickled_results.py tests/language/test_parser.py
PYTHONS ?= python3.11 python3.12 python3.13

# uv resolves to the lowest direct versions; it is needed for this target only.
lowest: | $(VENV)/bin/python
	$(BIN)/python -m pip install -q uv
	$(BIN)/uv venv -q --clear --python $(BIN)/python $(VENV)-lowest
	$(BIN)/uv pip install -q --python $(VENV)-lowest/bin/python --resolution lowest-direct -e ".[dev]"
	$(VENV)-lowest/bin/python -m pytest -n 2 -q $(VERSIONED)

interpreters:
	@for p in $(PYTHONS); do \
		"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "$$p: not installed, skipped"; continue; }; \
		"$$p" -m venv $(VENV)-$$(basename "$$p") && \
		$(VENV)-$$(basename "$$p")/bin/python -m pip install -q -e ".[dev]" && \
		$(VENV)-$$(basename "$$p")/bin/python -m pytest -n 2 -q $(VERSIONED) || exit 1; done

lint: $(VENV)/.has-dev
	$(BIN)/python build_backend/line_budget.py
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin

bench: $(VENV)/.has-bench
	$(BIN)/python -m benchmarks

compare-commits: $(VENV)/.has-bench
	$(BIN)/python -m benchmarks.commits $(BASE)

scale: $(VENV)/.has-run
	$(BIN)/python -m benchmarks.scale

tables: $(VENV)/.has-run
	$(BIN)/python -m gpusched_dsl.language.parsing.grammar
	$(BIN)/python -m gpusched_dsl.language.highlighting.textmate editors/vscode/syntaxes/gsm.tmLanguage.json

docs: $(VENV)/.has-docs
	$(BIN)/python -m gpusched_dsl.reporting.mathematics models docs/models
	$(BIN)/python docs/site/derive.py
	$(BIN)/python docs/site/build.py

playground: $(VENV)/.has-dev
	$(BIN)/python docs/site/make_playground.py

pictures: $(VENV)/.has-dev
	$(BIN)/python docs/site/gallery.py

clean:
	rm -rf $(VENV) $(VENV)-* build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis benchmarks/results
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; say which with: make PYTHON=/path/to/python3"; exit 1; }
	"$(PYTHON)" -m venv $(VENV)

$(VENV)/.has-run: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q -e .
	@touch $@

$(VENV)/.has-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q -e ".[dev]"
	@touch $@ $(VENV)/.has-run

$(VENV)/.has-docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q -e ".[dev,docs]"
	@touch $@ $(VENV)/.has-dev $(VENV)/.has-run

$(VENV)/.has-bench: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q -e ".[bench]"
	@touch $@ $(VENV)/.has-run
