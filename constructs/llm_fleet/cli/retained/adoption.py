"""Writes retained resources into the fleet file, so that the next deployment uses them."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any

from llm_fleet.cli.clients import AwsClients, AwsGone, AwsRefusal, aws_errors_reported
from llm_fleet.cli.retained.fleet_keys import PARTS, STORAGE_KEY, fleet_key, is_named, named
from llm_fleet.cli.retained.network_parts import check_key, existing_parts
from llm_fleet.cli.retained.survey import KINDS, LUSTRE, Retained, Survey
from llm_fleet.cli.retained.yaml_edit import set_keys
from llm_fleet.cli.verb import refuse
from llm_fleet.fleet_file.document import read_text
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.feature_codes import RetainedCode

RESTORE = "remove these keys, and write again what was in their places before `--adopt`, e.g. from version control"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """New keys of one mapping of the fleet file."""

    path: tuple[str, ...]
    entries: Mapping[str, Any]
    keep: tuple[str, ...] | None = ()
    """Other keys of the mapping that stay; `None`: all."""


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

    Raises `FleetError`: LF1231 if the fleet is deployed, LF1236 if several resources have the same key, LF1270 if the
    network does not match the file, LF1271 if a KMS key cannot be used, LF1272 if the changed text names what does not
    exist any more, and the errors that the fleet file would have.
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
    adopted = parse_fleet(after, subject=f"{path} with the retained resources", directory=path.parent)
    if missing := missing_names(clients, adopted, exists=(*found.items, *found.others)):
        names = ", ".join(missing)  # In the message: a long value would be cut.
        refuse(
            RetainedCode.MISSING,
            f"the fleet file names resources that do not exist any more, or whose deletion is scheduled: {names}",
            f"{RESTORE}; `aws kms cancel-key-deletion` restores a KMS key",
            subject="nothing was written",
        )
    return Adoption(before=text, after=after, notes=tuple(notes))


def missing_names(
    clients: AwsClients, fleet: Fleet, *, exists: Collection[Retained], deleted: Collection[Retained] = ()
) -> list[str]:
    """Return each key of the fleet file with the id of a resource that is in `deleted`, does not exist any more, or
    whose deletion is scheduled, e.g. `network.existing.vpc: vpc-1`. `exists` are not queried.
    """
    return [
        f"{'.'.join(path)}: {id}"
        for path, kind, id in named(fleet)
        if any(is_named(item, id) for item in deleted)
        or (not any(is_named(item, id) for item in exists) and _is_missing(clients, kind, id, fleet.region))
    ]


def _is_missing(clients: AwsClients, kind: str, id: str, region: str) -> bool:
    try:
        with aws_errors_reported(f"{kind} {id}"):
            return KINDS[kind][1](clients, id, region) is None
    except AwsGone:
        return True
    except AwsRefusal:  # E.g. a key of another account: it may exist.
        return False


def _chosen(found: Survey, fleet: Fleet) -> dict[tuple[str, ...], Retained]:
    """Return the resource of each key of the fleet file, except subnets and security groups: they follow their VPC.

    One that the fleet file has already comes before others.
    """
    chosen: dict[tuple[str, ...], Retained] = {}
    keys = [(item, fleet_key(item, fleet)) for item in found.items]
    for item, key in sorted(keys, key=lambda one: not one[1].used):
        if not key.path or (key.path[:2] == PARTS and key.path[-1] not in ("vpc", "key")):
            continue
        known = chosen.setdefault(key.path, item)
        if known is not item and not fleet_key(known, fleet).used:
            refuse(
                RetainedCode.SEVERAL,
                "several retained resources have the same key in the fleet file",
                "choose the resources to adopt with --only ID for each, or delete the others with --delete --only ID",
                value=f"{'.'.join(key.path)}: {known.id}, {item.id}",
                subject=f"fleet {fleet.name}",
            )
    return chosen


def _edits(
    clients: AwsClients,
    found: Survey,
    chosen: Mapping[tuple[str, ...], Retained],
    fleet: Fleet,
    notes: list[str],
) -> Iterator[Edit]:
    """Yield the changes of the fleet file, none for keys that have the resource already."""
    vpc_id = fleet.network.existing_vpc_id if fleet.network is not None else None
    network = chosen.get((*PARTS, "vpc"))
    if network is not None and network.is_checked:
        vpc_id = network.id
        entries = existing_parts(clients, network, chosen.get((*PARTS, "key")), found, fleet)
        if entries is not None:
            notes.append(
                f"the next deployment creates what is missing in {network.id} as `network` describes it: gateways, "
                "routes and VPC endpoints, which cost money by the hour; `llm-fleet check` shows what prevents that"
            )
            yield Edit(path=("network",), entries={"existing": entries}, keep=None)
    key = chosen.get(STORAGE_KEY)
    if key is not None and key.is_checked and not fleet_key(key, fleet).used:
        arn = {"key": check_key(clients, key.id, key.id)}
        is_written = "storage" in fleet.model_fields_set
        yield Edit(path=("storage",) if is_written else (), entries=arn if is_written else {"storage": arn}, keep=None)
    for part in ("fsx", "home"):
        item = chosen.get(("storage", part, "existing"))
        if item is None or not item.is_checked or fleet_key(item, fleet).used:
            continue
        if item.described.facts["VpcId"] != vpc_id:
            notes.append(f"{item.id} was not adopted: its VPC {item.described.facts['VpcId']} is not the fleet's")
            continue
        check_key(clients, item.described.facts.get("KmsKeyId"), item.id)
        yield Edit(path=("storage", part), entries={"existing": _file_system(clients, item)}, keep=("mount",))
    for path, item in chosen.items():
        if path[:2] == ("storage", "buckets") and item.is_checked and not fleet_key(item, fleet).used:
            check_key(clients, item.described.facts.get("KMSMasterKeyID"), item.id)
            yield Edit(path=path, entries=_bucket(item))


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
