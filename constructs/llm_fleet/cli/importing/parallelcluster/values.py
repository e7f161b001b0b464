"""Values of a ParallelCluster configuration as a fleet file writes them."""

from typing import Any, cast

from llm_fleet.cli.importing.parallelcluster.section import Section


def told(**keys: Any) -> dict[str, Any]:
    """Return the keys that have a value; `type_` stands for `type`, which is a word of Python's."""
    return {key.rstrip("_"): value for key, value in keys.items() if value is not None and value not in ([], {})}


def number(value: Any) -> Any:
    """Return the number that text stands for; ParallelCluster reads `"4"` as 4."""
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return value


def truth(value: Any) -> Any:
    """Return true or false where text stands for it, as ParallelCluster reads it."""
    words = {"true": True, "false": False}
    return words.get(value.strip().lower(), value) if isinstance(value, str) else value


def amount(value: Any, unit: str) -> str | None:
    """Return a number with its unit."""
    return None if value is None else f"{value} {unit}"


def unless(value: Any, default: Any) -> Any:
    """Return `value`, or nothing where it is the default anyhow."""
    return None if value == default else value


def tags(section: Section) -> dict[str, str] | None:
    """Return `Tags` as a mapping."""
    pairs = [cast("dict[str, Any]", item) for item in section.items("Tags") if isinstance(item, dict)]
    return {str(pair.get("Key", "")): str(pair.get("Value", "")) for pair in pairs} or None


def root_volume(section: Section, path: str) -> Any:
    """Return the root volume: its size alone, or a mapping where more is said of it."""
    size = amount(section.take(f"{path}/Size"), "GiB")
    more = told(
        type=section.take(f"{path}/VolumeType"),
        iops=number(section.take(f"{path}/Iops")),
        throughput=amount(section.take(f"{path}/Throughput"), "MiB/s"),
        encrypted=truth(section.take(f"{path}/Encrypted")),
    )
    return {**told(size=size), **more} if more else size


def dcv(section: Section) -> dict[str, Any] | None:
    """Return the remote desktop; nothing where it is off."""
    enabled = truth(section.take("Dcv/Enabled"))
    port, allowed = number(section.take("Dcv/Port")), section.take("Dcv/AllowedIps")
    if enabled:
        if allowed is None:
            section.notes.chosen(
                f"{section.say('Dcv')} is reached from nowhere but by Session Manager, the fleet's default; "
                "ParallelCluster's default is from everywhere: say with `dcv: {allowed_from: …}` from where"
            )
        return told(port=unless(port, 8443), allowed_from=allowed)
    if enabled is not None or port is not None or allowed is not None:
        section.notes.left_out(f"{section.say('Dcv')}: it is off")
    return None


def placement(section: Section) -> Any:
    """Return the placement group: its name, or whether there is one."""
    path = "Networking/PlacementGroup"
    enabled, name, id = (section.take(f"{path}/{key}") for key in ("Enabled", "Name", "Id"))
    return name or id or truth(enabled)


def reservation(section: Section) -> Any:
    """Return the capacity reservation: its id, or the ARN of a group of several."""
    path = "CapacityReservationTarget"
    id, arn = section.take(f"{path}/CapacityReservationId"), section.take(f"{path}/CapacityReservationResourceGroupArn")
    return id or arn


def scripts_and_policies(section: Section) -> None:
    """Say what becomes of scripts and policies of the user's own."""
    notes = section.notes
    for hook, below in dict(section.take("CustomActions") or {}).items():
        scripts = below.get("Sequence", [below]) if isinstance(below, dict) else [below]  # pyright: ignore
        for script in cast("list[Any]", scripts):
            name = cast("dict[str, Any]", script).get("Script", "") if isinstance(script, dict) else script
            notes.left_out(
                f"{section.say(f'CustomActions/{hook}')} {name}: llm-fleet's own steps run there; "
                "make it one of them, with `scripts: {own: …}` of the cluster"
            )
    for key in ("InstanceRole", "InstanceProfile", "AdditionalIamPolicies"):
        if section.take(f"Iam/{key}") is not None:
            notes.left_out(
                f"{section.say(f'Iam/{key}')}: the fleet gives nodes what its features need; say with `reads` and "
                "`writes` which buckets they need"
            )


def additional_groups(section: Section) -> list[Any]:
    """Return the security groups beside ParallelCluster's own."""
    if section.take("Networking/SecurityGroups") is not None:
        section.notes.left_out(
            f"{section.say('Networking/SecurityGroups')}: nodes are in ParallelCluster's own group and the fleet's; "
            "add yours to them with `security_groups`"
        )
    return section.items("Networking/AdditionalSecurityGroups")
