#!/usr/bin/env bash
# Checks this node against /etc/llm-fleet/health_check.conf, and drains or resumes it in Slurm.
# slurmd runs it when it starts and every few minutes, and kills it after 60 s.
# Usage: health_check.sh            drain the node if it is unhealthy; resume it if it is healthy and we drained it
#        health_check.sh --resume   the same, also if the record of that drain was lost with the disk
#        health_check.sh --report   only report; exit code 1 if the node is unhealthy
#        health_check.sh --quick    the same, only with checks that start no other program: before each job
set -euo pipefail
PATH=/opt/slurm/bin:/usr/local/bin:/usr/bin:/bin:"${PATH:-}"

root="${LLM_FLEET_ROOT:-}" # root of the node's file system; another folder in tests
readonly root
readonly conf="${root}/etc/llm-fleet/health_check.conf"
readonly drained="${root}/var/lib/llm-fleet/drained" # exists while the node is drained by this check
readonly prefix="llm-fleet:"
# The reason that slurmd sets, which runs as root. Source: llm_fleet_node/slurm/registration.py.
readonly spool_full="SlurmdSpoolDir is full [root@"
readonly hang=15 # seconds for a file system to answer
mode="${1:-}"
# The node's name in Slurm: from AWS ParallelCluster's file if it exists, otherwise the kernel's host name.
name="$(cat "${root}/etc/parallelcluster/slurm_plugin/slurm_nodename" 2>/dev/null || cat /proc/sys/kernel/hostname)"
name="${LLM_FLEET_NODE_NAME:-${name%%.*}}"
problems=()

sick() {
  problems+=("$1")
}

# A file system is mounted, not remounted read-only after an error, and answers.
check_mount() {
  local path="$1" access="$2" place options found=""
  while read -r _ place _ options _; do
    if [[ "${place}" == "${path}" ]]; then
      found="${options}"
    fi
  done <"${root}/proc/self/mounts"
  if [[ -z "${found}" ]]; then
    sick "${path} is not mounted"
  elif [[ "${access}" == rw && ",${found}," == *,ro,* ]]; then
    sick "${path} is read-only"
  elif [[ "${mode}" != --quick ]] && ! timeout "${hang}" stat -f "${root}${path}" >/dev/null 2>&1; then
    sick "${path} does not answer"
  fi
}

# A disk has free space, in percent of its blocks.
check_disk() {
  local path="$1" least="$2" free all
  if [[ "${mode}" == --quick ]]; then
    return
  fi
  if ! read -r free all < <(timeout "${hang}" stat -f -c '%a %b' "${root}${path}"); then
    sick "${path} does not answer"
  elif ((all > 0 && free * 100 / all < least)); then
    sick "${path} has $((free * 100 / all)) % left, less than ${least} %"
  fi
}

# The state folder of a Slurm daemon has enough free MiB, and is writable. It may not exist yet.
check_room() {
  local path="$1" least="$2" place="${root}$1" free size
  if [[ "${mode}" == --quick ]]; then
    return
  fi
  while [[ ! -e "${place}" && -n "${place}" ]]; do
    place="${place%/*}"
  done
  if ! read -r free size < <(timeout "${hang}" stat -f -c '%a %S' "${place:-/}"); then
    sick "${path} does not answer"
  elif ((free * size / 1048576 < least)); then
    sick "${path} has $((free * size / 1048576)) MiB left, less than ${least} MiB"
  elif [[ -d "${root}${path}" ]]; then
    place="${root}${path}/.llm-fleet-health-check"
    timeout "${hang}" tee "${place}" <<<"." >/dev/null 2>&1 || sick "${path} is not writable"
    rm -f "${place}" 2>/dev/null || true
  fi
}

# The number of files that match a pattern is the number of devices.
check_devices() {
  local pattern="$1" expected="$2" path count=0
  # Unquoted on purpose: it is a pattern.
  # shellcheck disable=SC2231
  for path in ${root}${pattern}; do
    if [[ -e "${path}" ]]; then
      ((count += 1))
    fi
  done
  if ((count < expected)); then
    sick "${count} of ${expected} devices ${pattern}"
  fi
}

check_all() {
  local kind what more
  while read -r kind what more; do
    case "${kind}" in
      mount) check_mount "${what}" "${more}" ;;
      disk) check_disk "${what}" "${more}" ;;
      room) check_room "${what}" "${more}" ;;
      devices) check_devices "${what}" "${more}" ;;
      "" | "#"*) ;;
      *) sick "health_check.conf has the unknown check ${kind}" ;;
    esac
  done <"${conf}"
}

# Sets the node's `state` and `reason` from Slurm.
ask() {
  local shown
  shown="$(scontrol --oneliner show node "${name}")" || return 1
  state="$(sed -n 's/.* State=\([^ ]*\).*/\1/p' <<<" ${shown}")"
  reason="$(sed -n 's/.* Reason=\(.*\)/\1/p' <<<"${shown}")"
}

drain() {
  local message="${prefix} ${problems[0]}"
  if ((${#problems[@]} > 1)); then
    message+=" and $((${#problems[@]} - 1)) more"
  fi
  ask || return 1
  # A drain by a user or the platform keeps its reason, also of a node that the platform is about to replace.
  # But slurmd drains a node whose spool folder is full, and never resumes it: this check takes over such a drain.
  if [[ "${state}" =~ DRAIN|FAIL|DOWN && "${reason}" != "${prefix}"* && "${reason}" != "${spool_full}"* ]]; then
    return 0
  fi
  mkdir -p "${drained%/*}"
  printf '%s\n' "${message}" >"${drained}"
  if [[ "${state}" != *DRAIN* || "${reason}" != "${message}"* ]]; then
    scontrol update "nodename=${name}" state=drain "reason=${message}"
  fi
}

resume() {
  ask || return 1
  if [[ "${state}" =~ DRAIN|FAIL|DOWN && "${reason}" == "${prefix}"* ]]; then
    scontrol update "nodename=${name}" state=resume
  fi
  rm -f "${drained}"
}

check_all
for problem in "${problems[@]}"; do
  printf '%s\n' "${problem}"
done
case "${mode}" in
  --report | --quick) ((${#problems[@]} == 0)) ;;
  "" | --resume)
    if ((${#problems[@]})); then
      drain
    elif [[ "${mode}" == --resume || -e "${drained}" ]]; then
      resume
    fi
    ;;
  *)
    printf 'usage: health_check.sh [--resume|--report|--quick]\n' >&2
    exit 2
    ;;
esac
