#!/usr/bin/env bash
# The first process of a node in a container: unmounts the files of the engine over the image, then executes systemd.
# Usage: first.sh NAME GATEWAY SYSTEMD_ARGUMENT...
set -euo pipefail
name="$1" gateway="$2"
shift 2

# The engine's name server must not be used: when it does not answer, each daemon waits many seconds.
for file in /etc/resolv.conf /etc/hosts /etc/hostname; do
  ! mountpoint -q "${file}" || umount "${file}"
done
printf '%s\n' "${name}" >/etc/hostname
# An isolated network has no default route; without one, programs do not find their own address.
ip route replace default via "${gateway}"
# cgroup v1, alone or together with v2: mounts the hierarchies of the machine, in /control-groups, in the node's folder.
# systemd makes that folder read-only, and would do the same to the machine's.
if [[ -d /control-groups ]]; then
  mount -t tmpfs -o mode=755,size=1M tmpfs /sys/fs/cgroup
  for place in /control-groups/*/; do
    if mountpoint -q "${place}"; then
      mkdir "/sys/fs/cgroup/$(basename "${place}")"
      mount --bind "${place}" "/sys/fs/cgroup/$(basename "${place}")"
    fi
  done
  umount --lazy /control-groups
fi
if [[ -e /sys/fs/cgroup/cgroup.controllers && ! -w /sys/fs/cgroup/cgroup.procs ]]; then
  mount -o remount,rw /sys/fs/cgroup
fi
exec /lib/systemd/systemd "$@"
