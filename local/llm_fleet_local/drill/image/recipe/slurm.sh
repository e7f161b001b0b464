#!/usr/bin/env bash
# Moves the distribution's Slurm to the paths of the HyperPod AMI: in /opt/slurm-24.11, with the link /opt/slurm, units
# in /etc/systemd/system, and no running daemons. Runs in the root, with the recipe's folder as argument.
# Source: assumption hyperpod-ami-slurm-layout
set -euo pipefail
recipe="$1"
readonly slurm=/opt/slurm-24.11

systemctl disable --quiet munge.service slurmctld.service slurmd.service slurmdbd.service mariadb.service

mkdir -p "${slurm}/bin" "${slurm}/sbin" "${slurm}/lib"
ln -sfn slurm-24.11 /opt/slurm

# Programs are moved, not copied: on the AMI none is in /usr, so a script that uses one there would fail on the AMI.
dpkg -L slurm-client slurmctld slurmd slurmdbd | grep -E '^/usr/s?bin/[^/]+$' | sort -u |
  while read -r program; do
    mv "${program}" "${slurm}/${program#/usr/}"
  done
for daemon in slurmctld slurmd slurmstepd; do
  rm "/usr/sbin/${daemon}" # the distribution's link to one of several builds
  mv "${slurm}/sbin/${daemon}-wlm" "${slurm}/sbin/${daemon}"
done
# slurmd starts it with the path that is compiled in.
ln -s "${slurm}/sbin/slurmstepd" /usr/sbin/slurmstepd
ln -s "$(dirname "$(dpkg -L slurm-wlm-basic-plugins | grep -m 1 '/slurm-wlm/[^/]*\.so$')")" "${slurm}/lib/slurm"

# The programs read /etc/slurm, which is compiled in; those of the AMI read /opt/slurm/etc.
rm -rf /etc/slurm
ln -s /opt/slurm/etc /etc/slurm
tar -C "${recipe}/files/slurm" --owner=0 --group=0 --mode=u=rwX,go=rX -c . | tar -C / --no-overwrite-dir -x
chown -R root:root "${slurm}"
chown slurm:slurm "${slurm}/etc/slurmdbd.conf.template" "${slurm}/etc/accounting.conf"
install -d -o slurm -g slurm /var/log/slurm /var/spool/slurmctld /var/spool/slurmd

# The stand-ins that are libraries: HyperPod's plugin of srun, compiled with Slurm's headers, and calls that do not set
# the clock. The compiler is removed afterwards.
compiler=(tcc binutils libc6-dev libslurm-dev)
apt-get -qq install --yes --no-install-recommends -o APT::Keep-Downloaded-Packages=false -o Dpkg::Use-Pty=0 "${compiler[@]}"
mkdir -p "${slurm}/lib/drill" /usr/local/lib/drill
# Not linked by tcc: its libraries require an executable stack, and such a library is not loaded.
for library in "${slurm}/lib/drill/auto_resume" /usr/local/lib/drill/set_no_clock; do
  tcc -Wall -Werror -c -o /tmp/library.o "${recipe}/$(basename "${library}").c"
  ld -shared -z noexecstack -o "${library}.so" /tmp/library.o
done
rm /tmp/library.o
apt-get -qq purge --yes --autoremove -o Dpkg::Use-Pty=0 "${compiler[@]}"

# systemd-timesyncd in addition to chrony, which Debian's packages exclude. It stays masked: a scenario uses it instead.
(cd /tmp && apt-get -qq download systemd-timesyncd)
dpkg-deb --extract /tmp/systemd-timesyncd_*.deb /
rm /tmp/systemd-timesyncd_*.deb
systemd-sysusers systemd-timesync.conf
mkdir -p /etc/systemd/system/systemd-timesyncd.service.d
cat >/etc/systemd/system/systemd-timesyncd.service.d/drill.conf <<'EOF'
[Unit]
ConditionCapability=
[Service]
AmbientCapabilities=
CapabilityBoundingSet=
Environment=LD_PRELOAD=/usr/local/lib/drill/set_no_clock.so
EOF

# Each cluster has its own key.
rm -f /etc/munge/munge.key
