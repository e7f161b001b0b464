#!/usr/bin/env bash
# slurmd runs this as root before a job's first step on this node. A node that is not fit is drained, with what is
# wrong as the reason, and Slurm puts the job back into the queue.
set -euo pipefail
here="${BASH_SOURCE[0]%/*}"

if ! bash "${here}/health_check.sh" --quick; then
  bash "${here}/health_check.sh" || true
  exit 1
fi
