#!/usr/bin/env bash
# The first process of a node, in its own namespaces: it configures network, mounts and root, then executes systemd.
# Usage: boot.sh NODE_FOLDER SYSTEMD_ARGUMENT..., with the variables below. It starts before the node has its own root,
# so it sees the machine's files; its mounts are invisible to other processes (the mount namespace is private).
set -euo pipefail

folder="$1"
shift
name="${DRILL_NAME:?}" address="${DRILL_ADDRESS:?}" prefix="${DRILL_PREFIX:?}" gateway="${DRILL_GATEWAY:?}"
cluster_netns="${DRILL_CLUSTER_NETNS:?}" cable="${DRILL_CABLE:?}" mac="${DRILL_MAC:?}"
root="${folder}/root"

# On the machine, this process has another id: the machine's /proc, which is still mounted, shows it.
read -r outside _ </proc/self/stat

# A veth pair from the cluster's bridge to this node. `netns 1` is this process, which has id 1 in its namespace.
network() {
  nsenter --net="${cluster_netns}" ip link add "${cable}" mtu 1500 master bridge up type veth \
    peer name eth0 address "${mac}" netns 1
  echo 1 >/proc/sys/net/ipv6/conf/eth0/disable_ipv6
  ip -batch - <<EOF
link set lo up
address add ${address}/${prefix} broadcast + dev eth0
link set eth0 up
route add default via ${gateway}
EOF
}

# Every cgroup hierarchy of the machine, with the node's group as root, which systemd may change.
control_groups() {
  local place
  if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
    mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 "${root}/sys/fs/cgroup"
    return
  fi
  mount -t tmpfs -o mode=755,size=1M tmpfs "${root}/sys/fs/cgroup"
  for place in /sys/fs/cgroup/*/; do
    place="$(basename "${place}")"
    mkdir "${root}/sys/fs/cgroup/${place}"
    case "${place}" in
      unified) mount -t cgroup2 cgroup2 "${root}/sys/fs/cgroup/unified" ;;
      systemd) mount -t cgroup -o none,name=systemd cgroup "${root}/sys/fs/cgroup/systemd" ;;
      *) mount -t cgroup -o "${place}" cgroup "${root}/sys/fs/cgroup/${place}" ;;
    esac
  done
}

# A /dev without the machine's disks: a step that searches for /dev/nvme1n1 does not find that of the machine.
devices() {
  local dev="${root}/dev" node
  mount -t tmpfs -o mode=755,nosuid,size=4M tmpfs "${dev}"
  mkdir "${dev}/pts" "${dev}/shm" "${dev}/mqueue"
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "${dev}/pts"
  mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "${dev}/shm"
  mount -t mqueue mqueue "${dev}/mqueue"
  for node in null:3 zero:5 full:7 random:8 urandom:9; do
    mknod -m 666 "${dev}/${node%:*}" c 1 "${node#*:}"
  done
  mknod -m 666 "${dev}/tty" c 5 0
  touch "${dev}/console"
  mount --bind "${folder}/console.log" "${dev}/console"
  ln -s pts/ptmx "${dev}/ptmx"
  ln -s /proc/self/fd "${dev}/fd"
  ln -s /proc/self/fd/0 "${dev}/stdin"
  ln -s /proc/self/fd/1 "${dev}/stdout"
  ln -s /proc/self/fd/2 "${dev}/stderr"
}

# Kernel settings of the whole machine are read-only; those of the node's network are writable.
kernel() {
  mount -t proc -o nosuid,nodev,noexec proc "${root}/proc"
  mount --bind "${root}/proc/sys" "${root}/proc/sys"
  mount --bind "${root}/proc/sys/net" "${root}/proc/sys/net"
  mount -o remount,bind,ro "${root}/proc/sys"
  [[ ! -e "${root}/proc/sysrq-trigger" ]] || mount --bind /dev/null "${root}/proc/sysrq-trigger"
  mount -t sysfs -o ro,nosuid,nodev,noexec sysfs "${root}/sys"
}

# Folders that the machine shares with the node (recursive bind mounts), and memory in place of instance storage.
extra() {
  local kind where what
  while IFS=$'\t' read -r kind where what; do
    mkdir -p "${root}${where}"
    case "${kind}" in
      shared) mount --rbind "${what}" "${root}${where}" ;;
      tmpfs) mount -t tmpfs -o "mode=755,size=${what}" tmpfs "${root}${where}" ;;
    esac
  done <"${folder}/mounts"
}

network
hostname "${name}"
mount --rbind "${root}" "${root}"
kernel
control_groups
devices
mount -t tmpfs -o mode=755,nosuid,nodev tmpfs "${root}/run"
mkdir "${root}/run/lock" "${root}/run/notify"
mount --bind "${folder}/notify" "${root}/run/notify"
extra
printf '%s\n' "${outside}" >"${folder}/init.new"
mv "${folder}/init.new" "${folder}/init"

cd "${root}"
mkdir -p .old
pivot_root . .old
umount -l /.old
rmdir /.old
# systemd reports on the socket when it has booted. The node may not set the machine's clock or load kernel modules.
exec setpriv --bounding-set=-sys_time,-sys_module,-sys_rawio \
  env -i container=llm-fleet-drill NOTIFY_SOCKET=/run/notify/socket \
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  /lib/systemd/systemd "$@" </dev/null
