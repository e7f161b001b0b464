#!/bin/bash
# User data of an inference host: installs the checks that run on every boot, and runs them once.
# The ECS agent waits for the checks; if they fail, the agent does not start and the host does not join the cluster.
# LLM_FLEET_ROOT sets another root folder, for tests.
set -euo pipefail

root="${LLM_FLEET_ROOT:-}"
home="$root/opt/llm-fleet/inference_host"
units="$root/etc/systemd/system"

fail() {
  echo "{\"event\": \"host-refused\", \"code\": \"LFN101\", \"message\": \"$1\"}" | tee "$root/dev/console"
  systemctl mask --now --no-block ecs.service
  exit 1
}

command -v python3 >/dev/null || fail "this AMI has no python3: use the ECS-optimized Neuron AMI of AL2023"

mkdir -p "$home" "$root/etc/llm-fleet" "$units/ecs.service.d"
unpack='import base64, io, sys, tarfile
packed = base64.b85decode(sys.stdin.read().replace("\n", ""))
tarfile.open(fileobj=io.BytesIO(packed), mode="r:bz2").extractall(sys.argv[1])'
python3 -c "$unpack" "$home" <<'FILES' || fail "the files cannot be unpacked: deploy the stack again"
@FILES@
FILES
cat >"$root/etc/llm-fleet/settings.json" <<'SETTINGS'
@SETTINGS@
SETTINGS
install -m 644 "$home"/systemd/*.service "$units"
install -m 644 "$home"/systemd/ecs.service.d/*.conf "$units/ecs.service.d"

systemctl daemon-reload
systemctl enable llm-fleet-host.service
# In this boot the start of ecs.service is already queued after cloud-init; the drop-in makes it wait for these units.
systemctl start llm-fleet-host.service
