#!/usr/bin/env bash
# Builds one layer of a node image into a folder. It runs in a private mount namespace, so that no mount remains if it
# is killed.
# Usage: layer.sh base  RECIPE OUT SUITE MIRROR...   a complete root in OUT/root, with the files in OUT/extra
#        layer.sh slurm RECIPE OUT BASE_ROOT         differences from BASE_ROOT in OUT/root, packages in OUT/packages
set -euo pipefail
kind="$1" recipe="$2" out="$3"
shift 3

# Prints the packages of a list, without comments.
listed() {
  grep -v '^#' "$1"
}

# Runs a command in a root, with the recipe at /mnt and the machine's DNS configuration.
inside() {
  local root="$1"
  shift
  chroot "${root}" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

# Nothing is written to a path that a later build reads: the result of a killed build is deleted.
fast=(force-unsafe-io 'path-exclude=/usr/share/man/*' 'path-exclude=/usr/share/locale/*'
  'path-exclude=/usr/share/doc/*' 'path-include=/usr/share/doc/*/copyright')

base() {
  local root="${out}/root" suite="$1"
  shift
  local -a options=()
  local option
  for option in "${fast[@]}"; do
    options+=("--dpkgopt=${option}")
  done
  mmdebstrap --quiet --mode=root --variant=minbase --include="apt,$(listed "${recipe}/base.packages" | paste -sd,)" \
    --aptopt='APT::Install-Recommends "false"' "${options[@]}" "${suite}" "${root}" "$@"
  rm -f "${root}/etc/dpkg/dpkg.cfg.d/99mmdebstrap" "${root}/etc/apt/apt.conf.d/99mmdebstrap"
  cp -R "${out}/extra/." "${root}/"
  rm -rf "${out}/extra"
  mount --bind "${recipe}" "${root}/mnt"
  inside "${root}" bash /mnt/base.sh /mnt
  inside "${root}" bash /mnt/last.sh
  umount "${root}/mnt"
}

slurm() {
  local merged="${out}/merged" option
  mkdir -p "${out}/root" "${out}/work" "${out}/packages/partial" "${merged}"
  mount -t overlay overlay -o "lowerdir=$1,upperdir=${out}/root,workdir=${out}/work" "${merged}"
  mount --bind "${recipe}" "${merged}/mnt"
  mount -t proc proc "${merged}/proc"
  mount --bind "$(realpath /etc/resolv.conf)" "${merged}/etc/resolv.conf"
  mount --bind "${out}/packages" "${merged}/var/cache/apt/archives"
  printf '%s\n' "${fast[@]}" >"${merged}/etc/dpkg/dpkg.cfg.d/drill"
  inside "${merged}" apt-get -qq update
  listed "${recipe}/slurm.packages" | inside "${merged}" xargs apt-get -qq install --yes --no-install-recommends \
    -o APT::Keep-Downloaded-Packages=true -o Dpkg::Use-Pty=0
  rm "${merged}/etc/dpkg/dpkg.cfg.d/drill"
  inside "${merged}" bash /mnt/slurm.sh /mnt
  inside "${merged}" bash /mnt/last.sh
  umount --recursive "${merged}"
  rm -rf "${merged}" "${out}/work" "${out}/packages/partial" "${out}/packages/lock"
}

"${kind}" "$@"
