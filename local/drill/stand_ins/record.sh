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

# Says what is played by what is about to be mounted: the one way in which the node's own steps believe it. Said before,
# for a real mount is there whole or not at all: one that is killed must not leave what nothing is known of.
# Usage: plays_mount TYPE DEVICE FOLDER TARGET
plays_mount() {
  local number
  number="$(findmnt --noheadings --output MAJ:MIN --target "$3" | tail -n 1)"
  mkdir -p /run/llm-fleet-drill
  printf '%s %s %s %s\n' "$4" "${number// /}" "$1" "$2" >>/run/llm-fleet-drill/mounts
}
