#!/usr/bin/env bash
# HyperPod runs this on every node after the AMI has configured Slurm, Docker, Enroot, Pyxis and accounting.
# By hand: on_init_complete.sh [--list [--role ROLE]] [--dry-run] [--only NAME...] [--json]
set -euo pipefail
export LLM_FLEET_STARTED="${EPOCHREALTIME:-}"
here="${BASH_SOURCE[0]%/*}"
[[ -d "${here}" ]] || here=.
# With bash: S3 does not keep execute bits, so only the script that HyperPod starts is sure to have one.
exec bash "${here}/enter.sh" OnInitComplete "$@"
