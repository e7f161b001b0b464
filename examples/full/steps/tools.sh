#!/usr/bin/env bash
# A custom step: sets a variable with the fleet's shared folder in every shell on the node.
# It is called with `apply`, which can run any number of times, and then with `verify`, which changes nothing.
set -euo pipefail

readonly FILE=/etc/profile.d/shared-folder.sh
readonly TEXT='export SHARED=/fsx/shared'

case "$1" in
  apply)
    printf '%s\n' "${TEXT}" >"${FILE}.new"
    mv "${FILE}.new" "${FILE}"
    ;;
  verify)
    [[ "$(<"${FILE}")" == "${TEXT}" ]]
    ;;
  *)
    printf 'called with %s, neither apply nor verify\n' "$1" >&2
    exit 2
    ;;
esac
