#!/usr/bin/env bash
# What the HyperPod AMI does by itself where the group has no OnCreate (SageMaker developer guide): accounting with
# MariaDB on the controller, Slurm's daemons started, file systems mounted. Docker, Enroot, Pyxis and SSH keys, which
# it sets up too, are left out: the drill's image has what it has. Texts and order are the drill's own: the AMI's are not
# public.
# Usage: ami_configures.sh ROLE CONTROLLER_ADDRESS [DEVICE MOUNT_PATH KIND]...
# Source: assumption hyperpod-ami-configures-by-itself
set -euo pipefail

role="$1" controller="$2"
shift 2
etc=/opt/slurm/etc

mounts() {
  local device path kind
  while (($#)); do
    device="$1" path="$2" kind="$3"
    shift 3
    mkdir -p "${path}"
    mountpoint -q "${path}" || mount -t "${kind}" "${device}" "${path}"
  done
}

accounting() {
  local password
  systemctl start mariadb
  password="$(od -An -tx1 -N16 /dev/urandom | tr -d ' \n')"
  mariadb <<EOF
CREATE DATABASE IF NOT EXISTS slurm_acct_db;
CREATE OR REPLACE USER 'slurm'@'localhost' IDENTIFIED BY '${password}';
GRANT ALL ON slurm_acct_db.* TO 'slurm'@'localhost';
EOF
  install -m 600 -o slurm -g slurm /dev/stdin "${etc}/slurmdbd.conf" <<EOF
AuthType=auth/munge
DbdHost=localhost
SlurmUser=slurm
LogFile=/var/log/slurm/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StoragePass=${password}
StorageLoc=slurm_acct_db
EOF
  cat >"${etc}/accounting.conf" <<EOF
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=$(hostname)
JobAcctGatherType=jobacct_gather/none
EOF
  systemctl enable --quiet --now slurmdbd
  # slurmctld, started before slurmdbd listens, would come up with another cluster id than the database has.
  timeout 60 bash -c 'until /opt/slurm/bin/sacctmgr --noheader show cluster >/dev/null 2>&1; do sleep 0.2; done'
}

mounts "$@"
systemctl restart munge
install -d -o slurm -g slurm /var/spool/slurmctld /var/log/slurm
install -d /var/spool/slurmd
if [[ "${role}" == Controller ]]; then
  accounting
  systemctl enable --quiet --now slurmctld
else
  rm -f "${etc}/slurm.conf"
  mkdir -p /etc/systemd/system/slurmd.service.d
  printf '[Service]\nEnvironment="SLURMD_OPTIONS=--conf-server %s"\nRestart=on-failure\nRestartSec=1\n' "${controller}" \
    >/etc/systemd/system/slurmd.service.d/conf-server.conf
  systemctl daemon-reload
  systemctl enable --quiet slurmd
  # Not waited for: the controller may come later, and systemd starts slurmd until it is there.
  systemctl start --no-block slurmd
fi
