#!/bin/bash
# Lifecycle script of Studio, run as the space's user at each start of JupyterLab or Code Editor. It downloads nothing.
# An error here fails the start: the reason is in the log group /aws/sagemaker/studio, in a stream that ends with
# /LifecycleConfigOnStart. LLM_FLEET_ROOT sets another root folder, for tests.
set -euo pipefail

root="${LLM_FLEET_ROOT:-}"
home="$root/opt/llm-fleet"

fail() {
  echo "llm-fleet: $1" >&2
  exit 1
}

# Everything outside of the home directory is new at each start, and owned by root.
as_root() { sudo -n "$@"; }

# A single attached file system gets the path that it has on the cluster nodes.
link_file_system() {
  local found=("$root"/mnt/custom-file-systems/fsx_lustre/*/)
  if [[ ! -d ${found[0]} ]]; then
    echo "llm-fleet: no FSx for Lustre file system is attached to this space, so there is no /fsx"
  elif ((${#found[@]} > 1)); then
    echo "llm-fleet: ${#found[@]} file systems are attached, so /fsx is not linked: ${found[*]}"
  elif [[ -e $root/fsx && ! -L $root/fsx ]]; then
    fail "/fsx already exists in this image: use another image, or detach the file system"
  else
    as_root ln -sfn "${found[0]%/}" "$root/fsx"
    echo "llm-fleet: /fsx is ${found[0]%/}"
  fi
}

# The full path: sudo has its own search path, and SageMaker Distribution's Python is not on it.
python="$(command -v python3)" || fail "this image has no python3"
as_root true || fail "sudo requires a password here: use a SageMaker Distribution image"
as_root mkdir -p "$home" "$root/etc/llm-fleet"
unpack='import io, sys, tarfile
tarfile.open(fileobj=io.BytesIO(sys.stdin.buffer.read()), mode="r:bz2").extractall(sys.argv[1])'
base64 --decode <<'FILES' | as_root "$python" -c "$unpack" "$root/" || fail "the files cannot be unpacked: deploy the stack again"
@FILES@
FILES
as_root tee "$root/etc/llm-fleet/notebook.json" >/dev/null <<'SETTINGS'
@SETTINGS@
SETTINGS
(cd "$home" && as_root env LLM_FLEET_ROOT="$root" "$python" -m notebook_instance.prepare) ||
  fail "pins and configuration cannot be written"
link_file_system
echo "llm-fleet: ready"
