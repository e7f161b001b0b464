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
