#!/usr/bin/env bash
# slurmd runs this as root before a job's first step on this node. A node that fails the check is drained, with the
# problem as the reason, and Slurm requeues the job.
set -euo pipefail
here="${BASH_SOURCE[0]%/*}"

if ! bash "${here}/health_check.sh" --quick; then
  bash "${here}/health_check.sh" || true
  exit 1
fi
