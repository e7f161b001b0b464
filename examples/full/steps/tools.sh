#!/usr/bin/env bash
# A step of one's own: gives every shell on the node a shortcut to the fleet's shared folder.
# It is called with `apply`, which may be run any number of times, and then with `verify`, which changes nothing.
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
