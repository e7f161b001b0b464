#!/usr/bin/env bash
# slurmd runs every file of this folder as root before a job's first step on a node. All nodes share the folder, but
# each node has its own check: one without it, e.g. in a queue that llm-fleet does not configure, is not checked.
set -euo pipefail
readonly prolog="${LLM_FLEET_ROOT:-}/opt/llm-fleet/slurm/prolog.sh"

if [[ -x "${prolog}" ]]; then
  exec bash "${prolog}"
fi
