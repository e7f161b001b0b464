#!/usr/bin/env bash
# HyperPod runs this on every node in place of the AMI's own configuration: nothing is set up yet, Slurm is not started.
# By hand: on_create.sh [--list [--role ROLE]] [--dry-run] [--only NAME...] [--json]
set -euo pipefail
export LLM_FLEET_STARTED="${EPOCHREALTIME:-}"
here="${BASH_SOURCE[0]%/*}"
[[ -d "${here}" ]] || here=.
# By way of bash: S3 keeps no run bits, so only the script that HyperPod starts is sure to have one.
exec bash "${here}/enter.sh" OnCreate "$@"
