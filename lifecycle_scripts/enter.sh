#!/usr/bin/env bash
# Finds a supported Python and runs the package llm_fleet_node, or fails with LFN01.
# Usage: enter.sh OnInitComplete|OnCreate|OnNodeConfigured [options, see llm_fleet_node/arguments.py]
set -euo pipefail

readonly OLDEST=9 NEWEST=13 # of Python 3
hook="${1:-}"
log_dir="${LLM_FLEET_LOG_DIR:-${LLM_FLEET_ROOT:-}/var/log/llm-fleet}"
here="${BASH_SOURCE[0]%/*}"
[[ -d "${here}" ]] || here=.

# Prints the first usable Python: only the one in LLM_FLEET_PYTHON if set; otherwise the distribution's, then the
# newest, then ParallelCluster's own: EL8 has 3.6. assumption: parallelcluster-python-of-its-own
# `-V` is ten times as fast as running a program.
find_python() {
  local candidate minor said
  local -a candidates=("${LLM_FLEET_PYTHON:-}")
  if [[ -z "${LLM_FLEET_PYTHON:-}" ]]; then
    candidates=(python3)
    for ((minor = NEWEST; minor >= OLDEST; minor--)); do
      candidates+=("python3.${minor}")
    done
    candidates+=("${LLM_FLEET_ROOT:-}"/opt/parallelcluster/pyenv/versions/*/envs/cookbook_virtualenv/bin/python)
  fi
  for candidate in "${candidates[@]}"; do
    said="$("${candidate}" -V 2>/dev/null)" || continue
    if [[ "${said}" =~ ^Python\ 3\.([0-9]+)\. ]] && ((BASH_REMATCH[1] >= OLDEST && BASH_REMATCH[1] <= NEWEST)); then
      printf '%s\n' "${candidate}"
      return 0
    fi
  done
  return 1
}

# Reports that no Python was found, in the same places and format as the package reports other failures.
fail() {
  local cause="no Python between 3.${OLDEST} and 3.${NEWEST} on this node"
  local remedy="use an AMI that has one, or set LLM_FLEET_PYTHON to the path of one"
  local text
  text="$(printf '{"schema_version": 1, "code": "LFN01", "cause": "%s", "remedy": "%s", "hook": "%s"}' \
    "${cause}" "${remedy}" "${hook}")"
  printf 'LFN01  %s\n  remedy: %s\n' "${cause}" "${remedy}" >&2
  if mkdir -p "${log_dir}"; then
    printf '%s\n' "${text}" >"${log_dir}/report.json.new"
    sync "${log_dir}/report.json.new"
    mv "${log_dir}/report.json.new" "${log_dir}/report.json"
  fi
  exit 1
}

# Removes the report of an earlier run: on a full disk this run could not replace it.
case " $* " in
  *" --list "* | *" --dry-run "*) ;;
  *) rm -f "${log_dir}/report.json" || true ;;
esac
python="$(find_python)" || fail
cd -- "${here}"
# -E, -s: ignore Python settings of the node. -B: write no files into the bundle.
exec "${python}" -E -s -S -B -m llm_fleet_node "$@"
