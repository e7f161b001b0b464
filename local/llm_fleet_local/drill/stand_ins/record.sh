# Records a call of a stand-in. Usage: source it, then: record NAME ARGUMENT...
# One JSON object per line, in the shared folder, in a file of this node (and of the user, if it is not root).
# shellcheck shell=bash
record() {
  local name="$1" argument list="" user=""
  ((EUID == 0)) || user=".${EUID}"
  shift
  for argument in "$@"; do
    argument="${argument//\\/\\\\}"
    argument="${argument//\"/\\\"}"
    argument="${argument//$'\n'/\\n}"
    list+="${list:+, }\"${argument//$'\t'/\\t}\""
  done
  printf '{"at": %s, "name": "%s", "arguments": [%s]}\n' "${EPOCHREALTIME}" "${name}" "${list}" \
    >>"/srv/drill/calls/${HOSTNAME}${user}.jsonl"
}

# Records which file system the next mount emulates, so that the node's steps accept it. Recorded before the mount,
# because a real mount is atomic: a killed one must not leave a mount without a record.
# Usage: plays_mount TYPE DEVICE FOLDER TARGET
plays_mount() {
  local number
  number="$(findmnt --noheadings --output MAJ:MIN --target "$3" | tail -n 1)"
  mkdir -p /run/llm-fleet-drill
  printf '%s %s %s %s\n' "$4" "${number// /}" "$1" "$2" >>/run/llm-fleet-drill/mounts
}
