"""The retained parts of a fleet's network, as its file names them, and the state of KMS keys."""

from collections.abc import Iterable, Mapping
from typing import Any

from llm_fleet.cli.clients import AwsClients, aws_errors_reported
from llm_fleet.cli.retained.fleet_keys import fleet_key, is_compute_subnet, is_database_subnet, is_group_of_nodes
from llm_fleet.cli.retained.survey import Retained, Survey
from llm_fleet.cli.verb import refuse
from llm_fleet.fleet_file.fleet import Fleet, NetworkConfig
from llm_fleet.rules.feature_codes import RetainedCode
from llm_fleet.rules.network_layout import compute_subnet_cidrs
from llm_fleet.rules.terms import InternetAccess


def existing_parts(
    clients: AwsClients, vpc: Retained, key: Retained | None, found: Survey, fleet: Fleet
) -> dict[str, Any] | None:
    """Return the entries of `network.existing`; `None` if the fleet file has them already.

    Raises `FleetError`: LF1270 if a CIDR block of the VPC or of a subnet is another one than in the fleet file, LF1271
    if the key of the flow logs cannot be used.
    """
    network = fleet.network
    assert network is not None
    _check_blocks(vpc, network)
    inside = [one for one in (*found.items, *found.others) if one.described.facts.get("VpcId") == vpc.id]
    database = sorted(filter(is_database_subnet, inside), key=lambda one: one.trace.logical_id)
    # A group or key that the fleet file has already comes first.
    groups = sorted(filter(is_group_of_nodes, inside), key=lambda one: not fleet_key(one, fleet).used)
    entries: dict[str, Any] = {
        "vpc": vpc.id,
        "subnets": _compute_subnets([one for one in inside if is_compute_subnet(one)], network),
        "security_group": next((one.id for one in groups), None),
        "database_subnets": [one.id for one in database],
        "key": check_key(clients, key.id, key.id) if key is not None else None,
    }
    if network.internet is not InternetAccess.NONE:
        entries["internet_gateway"] = _internet_gateway(clients, vpc.id)
    current = network.existing
    written = current.model_dump(mode="json", by_alias=True, exclude_defaults=True) if current is not None else {}
    entries["subnets"] = {**written.get("subnets", {}), **entries["subnets"]}
    entries = {**written, **{name: value for name, value in entries.items() if value}}
    return None if entries == written else entries


def _check_blocks(vpc: Retained, network: NetworkConfig) -> None:
    facts = vpc.described.facts
    associated = [one["CidrBlock"] for one in facts.get("CidrBlockAssociationSet", ())]
    for key, wanted, real in (
        ("cidr", network.cidr, [facts["CidrBlock"]]),
        ("compute_cidr", network.compute_cidr, [one for one in associated if one != facts["CidrBlock"]]),
    ):
        if wanted not in real:
            _does_not_fit(
                f"`network.{key}` is {wanted}, but {vpc.id} has {', '.join(real) or 'no such CIDR block'}",
                f"set `{key}: {real[0]}`" if real else "delete the VPC with --delete",
                vpc.id,
            )


def _compute_subnets(subnets: Iterable[Retained], network: NetworkConfig) -> dict[str, str]:
    """Return the ids by AZ id, in the order of the fleet file: its first AZ is the default."""
    cidrs: Mapping[str, str | None] = compute_subnet_cidrs(network.compute_cidr, network.zones)
    by_zone: dict[str, list[Retained]] = {}
    for one in subnets:
        by_zone.setdefault(str(one.described.facts["AvailabilityZoneId"]), []).append(one)
    found: dict[str, str] = {}
    for zone, wanted in cidrs.items():
        real = {str(one.described.facts["CidrBlock"]): one.id for one in by_zone.get(zone, ())}
        if wanted in real:
            found[zone] = real[wanted]
        elif real:
            _does_not_fit(
                f"the compute subnet of {zone} would have {wanted}, but the retained one has {', '.join(real)}",
                "write the AZs of the first deployment in the same order, and its `compute_cidr`",
                ", ".join(real.values()),
            )
    return found


def _internet_gateway(clients: AwsClients, vpc_id: str) -> str | None:
    """Return the internet gateway that is attached to the VPC; the network stack deletes its own."""
    attached: Any = {"Filters": [{"Name": "attachment.vpc-id", "Values": [vpc_id]}]}
    with aws_errors_reported(f"internet gateway of {vpc_id}"):
        found: list[Any] = list(clients.ec2.describe_internet_gateways(**attached)["InternetGateways"])
    return next((str(one["InternetGatewayId"]) for one in found), None)


def _does_not_fit(message: str, remedy: str, value: str) -> None:
    refuse(RetainedCode.DOES_NOT_FIT, message, remedy, value=value, subject="nothing was written")


def check_key(clients: AwsClients, key: str | None, owner: str) -> str | None:
    """Return the ARN of the KMS `key` of `owner`, an id or ARN; `None` without one. Raises `FleetError` (LF1271)."""
    if key is None:
        return None
    with aws_errors_reported(f"KMS key of {owner}"):
        found = clients.client("kms").describe_key(KeyId=key)["KeyMetadata"]
    if found["KeyState"] != "Enabled":
        restored = (
            f"`aws kms cancel-key-deletion --key-id {found['KeyId']}`, then " if "Deletion" in found["KeyState"] else ""
        )
        refuse(
            RetainedCode.KEY_STATE,
            f"data of {owner} cannot be read: the state of its KMS key is {found['KeyState']}",
            f"run {restored}`aws kms enable-key --key-id {found['KeyId']}`, or adopt the others with --only",
            value=found["KeyId"],
            subject="nothing was written",
        )
    return str(found["Arn"])
