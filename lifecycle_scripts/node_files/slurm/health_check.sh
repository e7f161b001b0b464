#!/usr/bin/env bash
# Says whether this node is fit for jobs, by what /etc/llm-fleet/health_check.conf expects of it, and tells Slurm.
# slurmd runs it at its start and every few minutes; Slurm kills it after 60 s.
# Usage: health_check.sh            drain the node when it is sick; resume it when it is well and we had drained it
#        health_check.sh --resume   the same, also when somebody else's memory of draining it was lost with its disk
#        health_check.sh --report   tell only; exit code 1 when it is sick
#        health_check.sh --quick    the same, by what needs no other program: before each job
set -euo pipefail
PATH=/opt/slurm/bin:/usr/local/bin:/usr/bin:/bin:"${PATH:-}"

root="${LLM_FLEET_ROOT:-}" # where the node's file system begins: moved in tests
readonly root
readonly conf="${root}/etc/llm-fleet/health_check.conf"
readonly drained="${root}/var/lib/llm-fleet/drained" # there while the node is drained by us
readonly prefix="llm-fleet:"
# As slurmd gives it, which runs as root. A source is in llm_fleet_node/slurm/registration.py.
readonly spool_full="SlurmdSpoolDir is full [root@"
readonly hang=15 # seconds that a file system may take to answer
mode="${1:-}"
# Slurm's name for the node, where AWS ParallelCluster tells it, else the kernel's.
name="$(cat "${root}/etc/parallelcluster/slurm_plugin/slurm_nodename" 2>/dev/null || cat /proc/sys/kernel/hostname)"
name="${LLM_FLEET_NODE_NAME:-${name%%.*}}"
problems=()

sick() {
  problems+=("$1")
}

# A file system is mounted, not read-only by an error of its own, and answers.
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

# A disk has room left, in percent of its blocks.
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

# A folder that Slurm's daemon keeps its state in has room for MiB, and takes a file. It need not be there yet.
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
    timeout "${hang}" tee "${place}" <<<"." >/dev/null 2>&1 || sick "${path} takes no file"
    rm -f "${place}" 2>/dev/null || true
  fi
}

# As many files match a pattern as there are devices.
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
      *) sick "health_check.conf asks for ${kind}, which is unknown" ;;
    esac
  done <"${conf}"
}

# What Slurm says: the node's state, and the reason that somebody gave for it.
ask() {
  local shown
  shown="$(scontrol --oneliner show node "${name}")" || return 1
  state="$(sed -n 's/.* State=\([^ ]*\).*/\1/p' <<<" ${shown}")"
  reason="$(sed -n 's/.* Reason=\(.*\)/\1/p' <<<"${shown}")"
}

drain() {
  local told="${prefix} ${problems[0]}"
  if ((${#problems[@]} > 1)); then
    told+=" and $((${#problems[@]} - 1)) more"
  fi
  ask || return 1
  # Who drained it before us has a reason of their own, which must stay; so has what the platform is about to replace.
  # But slurmd drains a node whose folder is full, and never gives it back: that becomes ours.
  if [[ "${state}" =~ DRAIN|FAIL|DOWN && "${reason}" != "${prefix}"* && "${reason}" != "${spool_full}"* ]]; then
    return 0
  fi
  mkdir -p "${drained%/*}"
  printf '%s\n' "${told}" >"${drained}"
  if [[ "${state}" != *DRAIN* || "${reason}" != "${told}"* ]]; then
    scontrol update "nodename=${name}" state=drain "reason=${told}"
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
