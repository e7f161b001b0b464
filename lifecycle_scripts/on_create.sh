#!/usr/bin/env bash
# HyperPod runs this on every node instead of the AMI's configuration: nothing is set up, and Slurm is not started.
# By hand: on_create.sh [--list [--role ROLE]] [--dry-run] [--only NAME...] [--json]
set -euo pipefail
export LLM_FLEET_STARTED="${EPOCHREALTIME:-}"
here="${BASH_SOURCE[0]%/*}"
[[ -d "${here}" ]] || here=.
# With bash: S3 does not keep execute bits, so only the script that HyperPod starts is sure to have one.
exec bash "${here}/enter.sh" OnCreate "$@"
