"""Turns the volumes and mounts of a request's groups into those of a fleet file."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from llm_fleet.cli.importing.notes import Notes

_FILE_SYSTEM_ID = re.compile(r"(fs|fc)i?-[0-9a-f]{8,}")
_MOUNTS = {"FsxLustreConfig": ("fsx", "mount_fsx", "/fsx"), "FsxOpenZfsConfig": ("home", "mount_home", "/home")}
"""By member: the key under `storage`, the key of a group that does not mount it, where it is mounted by default."""


def group_volumes(group: Mapping[str, Any], account: str | None, region: str, notes: Notes) -> dict[str, Any]:
    """Return the EBS keys of one group."""
    told: dict[str, Any] = {}
    for volume in _each(group, "EbsVolumeConfig"):
        key = _key_arn(volume.get("VolumeKmsKeyId"), account, region, str(group["InstanceGroupName"]), notes)
        if volume.get("RootVolume") and "VolumeSizeInGB" not in volume:
            told["root_volume_key"] = key
        elif "ebs" in told:
            notes.left_out(
                f"a further EBS volume of {group['InstanceGroupName']}: a group has one beside the root volume"
            )
        elif "VolumeSizeInGB" in volume:
            told |= {"ebs": f"{volume['VolumeSizeInGB']} GiB", "ebs_key": key}
    return {name: value for name, value in told.items() if value is not None}


def storage(groups: Sequence[Mapping[str, Any]], notes: Notes) -> dict[str, Any]:
    """Return the file systems that the groups mount, as ones that exist."""
    told: dict[str, Any] = {}
    for member, (key, _, default_path) in _MOUNTS.items():
        found = [config for group in groups for config in _each(group, member)]
        for other in found[1:]:
            if other.get("DnsName") != found[0].get("DnsName"):
                notes.left_out(f"{member} {other.get('DnsName')}: the fleet's {key} is {found[0].get('DnsName')}")
        if found:
            told[key] = _existing(found[0], default_path)
            notes.chosen(f"{found[0].get('DnsName')} is taken as it is, under storage.{key}.existing")
    return told


def unmounted(group: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a group that does not mount what others of the cluster mount."""
    return {
        switch: False
        for member, (key, switch, _) in _MOUNTS.items()
        if key in shared
        and shared[key]["existing"]["dns_name"] not in [each.get("DnsName") for each in _each(group, member)]
    }


def _existing(config: Mapping[str, Any], default_path: str) -> dict[str, Any]:
    dns_name = str(config.get("DnsName", ""))
    match = _FILE_SYSTEM_ID.match(dns_name)
    existing: dict[str, Any] = {"id": match[0] if match else dns_name, "dns_name": dns_name}
    if "MountName" in config:
        existing["mount_name"] = config["MountName"]
    path = config.get("MountPath", default_path)
    return {"existing": existing, **({"mount": path} if path != default_path else {})}


def _each(group: Mapping[str, Any], member: str) -> Iterator[Mapping[str, Any]]:
    yield from (config[member] for config in group.get("InstanceStorageConfigs", []) if member in config)


def _key_arn(key: str | None, account: str | None, region: str, group: str, notes: Notes) -> str | None:
    """Return the key as an ARN; the API takes a bare id too."""
    if key is None or key.startswith("arn:"):
        return key
    if account is None:
        notes.left_out(f"VolumeKmsKeyId {key} of {group}: a fleet file names a key by its ARN, and no account is told")
        return None
    arn = f"arn:aws:kms:{region}:{account}:{key if '/' in key else f'key/{key}'}"
    notes.mended(f"VolumeKmsKeyId {key} of {group} is {arn}")
    return arn
