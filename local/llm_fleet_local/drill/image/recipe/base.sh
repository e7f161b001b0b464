#!/usr/bin/env bash
# Configures a new distribution root as a node: users, disabled services, and no files that must differ between nodes.
# Runs in the root, with the recipe's folder as first argument; started by mmdebstrap and chroot, or by a Dockerfile.
set -euo pipefail
recipe="$1"

# Owner and mode do not depend on how llm-fleet was installed.
tar -C "${recipe}/files/base" --owner=0 --group=0 --mode=u=rwX,go=rX -c . | tar -C / --no-overwrite-dir -x

# Otherwise every node compiles the AWS CLI at its first call.
python3 -m compileall -q -j 0 /opt/aws-cli

# The AMI's user. Files on a shared /home belong to its uid.
if ! id ubuntu &>/dev/null; then
  useradd --create-home --shell /bin/bash --uid 1000 --user-group ubuntu
fi
printf 'ubuntu ALL=(ALL) NOPASSWD:ALL\n' >/etc/sudoers.d/90-ubuntu
chmod 440 /etc/sudoers.d/90-ubuntu

# Network, devices, clock and kernel settings of a node are configured from outside; the other units fail in namespaces,
# or start during a measurement. tmp.mount: the AMI's /tmp is on its root, and the bundle is copied there.
systemctl mask --quiet \
  systemd-networkd.service systemd-networkd.socket systemd-networkd-wait-online.service systemd-resolved.service \
  systemd-udevd.service systemd-udevd-control.socket systemd-udevd-kernel.socket systemd-udev-trigger.service \
  systemd-timesyncd.service systemd-modules-load.service systemd-sysctl.service systemd-binfmt.service \
  systemd-firstboot.service systemd-update-utmp.service systemd-journal-catalog-update.service \
  systemd-remount-fs.service systemd-pstore.service systemd-udev-load-credentials.service \
  console-getty.service getty@.service container-getty@.service serial-getty@.service getty.target \
  apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer \
  systemd-tmpfiles-clean.timer tmp.mount dev-hugepages.mount dev-mqueue.mount run-lock.mount run-rpc_pipefs.mount \
  sys-fs-fuse-connections.mount sys-kernel-config.mount sys-kernel-debug.mount sys-kernel-tracing.mount \
  rpcbind.service rpcbind.socket rpc-statd.service rpc-statd-notify.service nfs-client.target nfs-blkmap.service \
  proc-sys-fs-binfmt_misc.automount proc-sys-fs-binfmt_misc.mount \
  mdmonitor.service mdmonitor-oneshot.timer mdcheck_start.timer mdcheck_continue.timer \
  xfs_scrub_all.timer prometheus-node-exporter-apt.timer prometheus-node-exporter-ipmitool-sensor.timer \
  prometheus-node-exporter-mellanox-hca-temp.timer prometheus-node-exporter-nvme.timer \
  prometheus-node-exporter-smartmon.timer

# Generators, which systemd runs at boot and at each reload: their units are for hardware that these nodes do not have.
mkdir -p /etc/systemd/system-generators
for generator in rpc-pipefs-generator systemd-{debug,getty,gpt-auto,hibernate-resume,rc-local,run,ssh,system-update,tpm2}-generator; do
  ln -sf /dev/null "/etc/systemd/system-generators/${generator}"
done

# The session manager starts with the first session, not at each boot.
mkdir -p /etc/systemd/system/multi-user.target.wants
ln -sf /dev/null /etc/systemd/system/multi-user.target.wants/systemd-logind.service

systemctl disable --quiet prometheus-node-exporter.service nftables.service slapd.service sssd.service chrony.service

# The packages configure NSS and PAM to use SSSD immediately, which a fresh AMI does not.
pam-auth-update --package --remove sss
sed -i -E 's/[[:space:]]+sss\b//' /etc/nsswitch.conf

# All nodes share the machine's clock: chronyd only measures it (-x), with the time server that AWS has for instances.
cat >/etc/systemd/system/chrony.service <<'EOF'
[Unit]
Description=chronyd that measures and sets nothing
[Service]
Type=forking
PIDFile=/run/chrony/chronyd.pid
ExecStart=/usr/sbin/chronyd -x
[Install]
WantedBy=multi-user.target
EOF
printf 'server 169.254.169.123 iburst minpoll 0 maxpoll 4\ndriftfile /var/lib/chrony/chrony.drift\n' >/etc/chrony/chrony.conf
systemctl enable --quiet ssh-host-keys.service

# Files that each node creates itself or gets from the platform.
rm -f /etc/ssh/ssh_host_* /var/lib/dbus/machine-id
: >/etc/machine-id
# A container engine mounts its own file there during the build, and another one in each container.
mountpoint -q /etc/resolv.conf || rm -f /etc/resolv.conf
: >/etc/resolv.conf
printf '127.0.0.1 localhost\n' >/etc/hosts
: >/etc/fstab
