# Writes down a stand-in's call. Usage: source it, then: record NAME ARGUMENT...
# One JSON object a line, in a file of this node's own (and of the user's, where that is not root) that every node's
# machine sees.
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

# Says what is played by what was just mounted: the one way in which the node's own steps believe it.
# Usage: plays_mount TYPE DEVICE TARGET
plays_mount() {
  local number
  number="$(findmnt --noheadings --output MAJ:MIN --mountpoint "$3" | tail -n 1)"
  mkdir -p /run/llm-fleet-drill
  printf '%s %s %s %s\n' "$3" "${number// /}" "$1" "$2" >>/run/llm-fleet-drill/mounts
}
