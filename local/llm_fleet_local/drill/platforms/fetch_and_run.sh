#!/usr/bin/env bash
# Emulates ParallelCluster's fetch_and_run (aws-parallelcluster-cookbook, custom_action_executor.py): fetches one file,
# runs it as root with its arguments, does not log its standard error, and prints only its exit code when it fails.
# Usage: fetch_and_run.sh EVENT s3://BUCKET/KEY [ARGUMENT...]
# Source: assumption parallelcluster-nodes-as-in-its-code
set -uo pipefail
readonly error_file=/var/log/parallelcluster/bootstrap_error_msg
event="$1" url="$2"
shift 2

fail() {
  printf '%s\n' "$1"
  mkdir -p "${error_file%/*}"
  printf 'fetch_and_run - %s\n' "$1" >"${error_file}"
  rm -f "${file}"
  exit 1
}

file="$(mktemp)"
if ! said="$(aws s3 cp --only-show-errors "${url}" "${file}" 2>&1)"; then
  fail "Failed to download ${event} script 1 using aws s3. ${said}"
fi
chmod +x "${file}"
"${file}" "$@" 2>/dev/null
code=$?
((code == 0)) || fail "Failed to execute ${event} script 1, return code: ${code}."
rm -f "${file}"
