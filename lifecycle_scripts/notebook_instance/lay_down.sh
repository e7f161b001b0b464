#!/bin/bash
# Lifecycle script of a notebook instance: unpacks its own content, and runs it. It downloads nothing.
# LLM_FLEET_ROOT sets another root folder, for tests.
set -euo pipefail
export PATH="${LLM_FLEET_PATH:-/usr/sbin:/usr/bin:/sbin:/bin}"
root="${LLM_FLEET_ROOT:-}"
home="$root/opt/llm-fleet/notebook_instance"
rm -rf "$home"
mkdir -p "$home" "$root/etc/llm-fleet"
unpack='import io, sys, tarfile
tarfile.open(fileobj=io.BytesIO(sys.stdin.buffer.read()), mode="r:bz2").extractall(sys.argv[1])'
base64 --decode <<'FILES' | python3 -c "$unpack" "$root/"
@FILES@
FILES
cat >"$root/etc/llm-fleet/notebook.json" <<'SETTINGS'
@SETTINGS@
SETTINGS
exec bash "$home/on_start.sh"
