"""Writes retained resources into the fleet file, so that the next deployment uses them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any

from llm_fleet.cli.clients import AwsClients, aws_errors_reported
from llm_fleet.cli.retained.fleet_keys import fleet_key, is_compute_subnet, is_group_of_nodes
from llm_fleet.cli.retained.survey import LUSTRE, Retained, Survey
from llm_fleet.cli.retained.yaml_edit import set_keys
from llm_fleet.cli.verb import refuse
from llm_fleet.fleet_file.document import read_text
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.feature_codes import RetainedCode

_NETWORK = ("network",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """New keys of one mapping of the fleet file."""

    path: tuple[str, ...]
    entries: Mapping[str, Any]
    keep: tuple[str, ...] = ()
    """Keys of the mapping that stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """The fleet file with the retained resources."""

    before: str
    after: str
    notes: tuple[str, ...]
    """What the user must know before the next deployment."""

    @property
    def changes(self) -> bool:
        """Whether the text differs."""
        return self.before != self.after

    def diff(self, path: Path) -> str:
        """Return the changed lines."""
        lines = unified_diff(self.before.splitlines(), self.after.splitlines(), str(path), str(path), lineterm="")
        return "".join(f"{line}\n" for line in lines)


def adopt(clients: AwsClients, found: Survey, fleet: Fleet, path: Path) -> Adoption:
    """Return the changed text of the fleet file at `path`, which is valid.

    Raises `FleetError`: LF1231 if the fleet is deployed, LF1236 if several resources have the same key, and the errors
    that the fleet file would have.
    """
    text = read_text(path)
    chosen = _chosen(found, fleet)
    notes: list[str] = []
    after = text
    for edit in _edits(clients, found, chosen, fleet, notes):
        after = set_keys(after, edit.path, edit.entries, keep=edit.keep)
    if after != text and found.stacks:
        refuse(
            RetainedCode.STILL_DEPLOYED,
            "the fleet has stacks, and with these keys the next deployment would replace what they have",
            "destroy the fleet first, or write the keys by hand",
            value=", ".join(found.stacks),
            subject=str(path),
        )
    parse_fleet(after, subject=f"{path} with the retained resources", directory=path.parent)
    return Adoption(before=text, after=after, notes=tuple(notes))


def _chosen(found: Survey, fleet: Fleet) -> dict[tuple[str, ...], Retained]:
    """Return the resource of each key of the fleet file, except lists of keys such as subnets."""
    chosen: dict[tuple[str, ...], Retained] = {}
    for item in found.items:
        key = fleet_key(item, fleet)
        if not key.path or key.path[-1] in ("subnets", "security_group"):
            continue
        if key.path in chosen:
            refuse(
                RetainedCode.SEVERAL,
                "several retained resources have the same key in the fleet file",
                "choose the resources to adopt with --only ID for each, or delete the others with --delete --only ID",
                value=f"{'.'.join(key.path)}: {chosen[key.path].id}, {item.id}",
                subject=f"fleet {fleet.name}",
            )
        chosen[key.path] = item
    return chosen


def _edits(
    clients: AwsClients,
    found: Survey,
    chosen: Mapping[tuple[str, ...], Retained],
    fleet: Fleet,
    notes: list[str],
) -> Iterator[Edit]:
    """Yield the changes of the fleet file, none for keys that have the resource already."""
    network = chosen.get(("network", "vpc"))
    vpc_id = fleet.network.vpc.vpc_id if fleet.network is not None and fleet.network.vpc is not None else None
    if network is not None and network.is_checked and vpc_id is None:
        edit = _vpc(network, found, fleet)
        if isinstance(edit, Edit):
            vpc_id = network.id
            notes.append(
                f"{network.id} has no internet access and no VPC endpoints: they were deleted with the network stack. "
                "Add a NAT gateway or the endpoints, then check the routes with `llm-fleet check`"
            )
            yield edit
        else:
            notes.append(edit)
    for part, kept in (("fsx", ("mount",)), ("home", ("mount",))):
        item = chosen.get(("storage", part, "existing"))
        if item is None or fleet_key(item, fleet).used:
            continue
        if item.described.facts["VpcId"] != vpc_id:
            notes.append(f"{item.id} was not adopted: its VPC {item.described.facts['VpcId']} is not the fleet's")
            continue
        entries = _file_system(clients, item)
        yield Edit(path=("storage", part), entries={"existing": entries}, keep=kept)
    for path, item in chosen.items():
        if path[:2] == ("storage", "buckets") and item.is_checked and not fleet_key(item, fleet).used:
            yield Edit(path=path, entries=_bucket(item))


def _vpc(network: Retained, found: Survey, fleet: Fleet) -> Edit | str:
    """Return the change, or why the VPC cannot be adopted."""
    inside = [item for item in found.of("subnet") if item.described.facts.get("VpcId") == network.id]
    subnets = {str(one.described.facts["AvailabilityZoneId"]): one for one in inside if is_compute_subnet(one)}
    # The order of the fleet file: its first AZ is the default.
    wanted = fleet.network.zones if fleet.network is not None else ()
    missing = [zone for zone in wanted if zone not in subnets]
    if missing:
        return f"{network.id} was not adopted: it has no compute subnet in {', '.join(missing)}"
    groups = [
        item
        for item in found.of("security group")
        if item.described.facts.get("VpcId") == network.id and is_group_of_nodes(item)
    ]
    entries: dict[str, Any] = {"id": network.id, "subnets": {zone: subnets[zone].id for zone in wanted}}
    entries["cidrs"] = {zone: subnets[zone].described.facts["CidrBlock"] for zone in wanted}
    if groups:
        entries["security_group"] = groups[0].id
    return Edit(path=_NETWORK, entries={"vpc": entries})


def _file_system(clients: AwsClients, item: Retained) -> dict[str, Any]:
    facts = item.described.facts
    entries: dict[str, Any] = {"id": item.id}
    if facts["FileSystemType"] == LUSTRE:
        entries["mount_name"] = facts["LustreConfiguration"]["MountName"]
        if facts["LustreConfiguration"].get("EfaEnabled"):
            entries["efa"] = True
    else:
        entries["volume"] = facts["OpenZFSConfiguration"]["RootVolumeId"]
    with aws_errors_reported(f"subnet of {item.id}"):
        (subnet,) = clients.ec2.describe_subnets(SubnetIds=facts["SubnetIds"][:1])["Subnets"]
    entries["az"] = subnet.get("AvailabilityZoneId")
    return entries


def _bucket(item: Retained) -> dict[str, Any]:
    key = item.described.facts.get("KMSMasterKeyID")
    return {"existing": True, "name": item.id, **({"key": key} if key else {})}
