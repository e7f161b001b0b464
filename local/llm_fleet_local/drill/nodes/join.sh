#!/usr/bin/env bash
# Adds itself to control groups and executes a command. Usage: join.sh GROUP... -- COMMAND...
set -euo pipefail

while [[ "$1" != -- ]]; do
  echo 0 >"$1/cgroup.procs"
  shift
done
shift
exec "$@"
