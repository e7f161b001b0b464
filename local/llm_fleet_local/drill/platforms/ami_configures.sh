#!/usr/bin/env bash
# Emulates what the HyperPod AMI configures when the group has no OnCreate (SageMaker developer guide): accounting with
# MariaDB on the controller, Slurm's daemons, mounts of file systems. Not emulated: Docker, Enroot, Pyxis and SSH keys,
# which the AMI also configures. Texts and order are those of the drill: those of the AMI are not public.
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
  # If slurmctld starts before slurmdbd listens, it gets another cluster id than the database.
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
  # Without waiting: the controller may start later, and systemd restarts slurmd until then.
  systemctl start --no-block slurmd
fi
