#!/usr/bin/env bash
# HyperPod runs this on every node in place of the AMI's own configuration: nothing is set up yet, Slurm is not started.
set -euo pipefail
here="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)"
# By way of bash: S3 keeps no run bits, so only the script that HyperPod starts is sure to have one.
exec bash "${here}/enter.sh" OnCreate
