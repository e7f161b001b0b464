#!/bin/bash
# Lifecycle script of Studio, run as the space's user at each start of JupyterLab or Code Editor. It fetches nothing, and
# what fails here fails the start: CloudWatch has the reason in /aws/sagemaker/studio, in a stream that ends with
# /LifecycleConfigOnStart. LLM_FLEET_ROOT moves everything below another folder, for tests.
set -euo pipefail

root="${LLM_FLEET_ROOT:-}"
home="$root/opt/llm-fleet"

refuse() {
  echo "llm-fleet: $1" >&2
  exit 1
}

# Everything outside of the home directory is new at each start, and belongs to root.
as_root() { sudo -n "$@"; }

# One file system of the fleet stands where the nodes of its clusters have it, too.
link_file_system() {
  local found=("$root"/mnt/custom-file-systems/fsx_lustre/*/)
  if [[ ! -d ${found[0]} ]]; then
    echo "llm-fleet: this space has no FSx for Lustre: attach it to the space for a /fsx"
  elif ((${#found[@]} > 1)); then
    echo "llm-fleet: ${#found[@]} file systems are attached, so none is /fsx: ${found[*]}"
  elif [[ -e $root/fsx && ! -L $root/fsx ]]; then
    refuse "/fsx is something of this image: take another image, or detach the file system"
  else
    as_root ln -sfn "${found[0]%/}" "$root/fsx"
    echo "llm-fleet: /fsx is ${found[0]%/}"
  fi
}

# By its whole path: sudo looks in folders of its own, and SageMaker Distribution has its Python in none of them.
python="$(command -v python3)" || refuse "this image has no python3"
as_root true || refuse "sudo asks for a password here: take an image of SageMaker Distribution"
as_root mkdir -p "$home" "$root/etc/llm-fleet"
unpack='import io, sys, tarfile
tarfile.open(fileobj=io.BytesIO(sys.stdin.buffer.read()), mode="r:bz2").extractall(sys.argv[1])'
base64 --decode <<'FILES' | as_root "$python" -c "$unpack" "$root/" || refuse "the files cannot be unpacked: deploy the stack again"
@FILES@
FILES
as_root tee "$root/etc/llm-fleet/notebook.json" >/dev/null <<'SETTINGS'
@SETTINGS@
SETTINGS
(cd "$home" && as_root env LLM_FLEET_ROOT="$root" "$python" -m notebook_instance.prepare) ||
  refuse "pins and configuration cannot be written"
link_file_system
echo "llm-fleet: ready"
