"""Sections of a plan from the fleet file: instances, network, Lustre, retained resources."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

from llm_fleet.catalog.fsx import lustre_need_facts
from llm_fleet.catalog.network import address_facts
from llm_fleet.cli.plan.stack_templates import StackTemplate
from llm_fleet.cli.screen import Screen, Tone, Toned, counted, painted, plain_text
from llm_fleet.cli.table import Cell, Column, Table
from llm_fleet.fleet_file.check_network import address_plan
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.needs.machines import (
    CheckpointNeed,
    LustreSupply,
    MachineFacts,
    Machines,
    MachineService,
    facts_of_machines,
    lustre_supply,
    machines_of,
)
from llm_fleet.rules.addresses import AddressPlan, ZonePlan

if TYPE_CHECKING:
    from llm_fleet.jobs.settings import TrainingRun

_CENT = Decimal("0.01")
_SMALL = Decimal(1)


def in_dollars(usd: Decimal | None) -> str | None:
    """Return `$1,234.56`, with four places below a dollar; `None` if unknown."""
    if usd is None:
        return None
    places = _CENT if usd >= _SMALL or not usd else Decimal("0.0001")
    return f"${usd.quantize(places, rounding=ROUND_HALF_UP):,}"


def dollars_range(low: Decimal, high: Decimal) -> str:
    """Return `$1.00`, or `$1.00 to $2.00` if both differ."""
    return f"{in_dollars(low)}" if low == high else f"{in_dollars(low)} to {in_dollars(high)}"


def count_range(low: int, high: int) -> str:
    """Return `4`, or `0 to 4` if both differ."""
    return f"{high:,}" if low == high else f"{low:,} to {high:,}"


def as_number(value: Decimal | None) -> float | None:
    """Return `value` for JSON, to a hundredth of a cent."""
    return None if value is None else float(round(value, 4))


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section of the plan."""

    key: str
    """Key in the JSON."""
    title: str
    parts: Sequence[Table | str | Toned] = ()
    """Tables and paragraphs."""
    data: Any = field(default=None)
    """Content for JSON."""

    def text(self, screen: Screen) -> str:
        """Return the section for `screen`, with an empty line at its end."""
        heading = painted(self.title, Tone.STRONG, color=screen.color)
        return "\n".join([heading, *(_shown(part, screen).rstrip("\n") for part in self.parts), "", ""])


def _shown(part: Table | str | Toned, screen: Screen) -> str:
    if isinstance(part, Table):
        return part.text(screen)
    toned = part if isinstance(part, Toned) else Toned(part)
    text = plain_text(toned.text)
    lines = [text] if screen.width is None else textwrap.wrap(text, max(screen.width, 1), break_on_hyphens=False)
    return "\n".join(painted(line, toned.tone, color=screen.color) for line in lines)


_MACHINES_COLUMNS = (
    Column(key="owner", title="OWNER"),
    Column(key="type", title="TYPE", wraps=True),
    Column(key="count", title="COUNT", right=True),
    Column(key="vcpus", title="VCPUS", right=True),
    Column(key="accelerators", title="ACCELERATORS", right=True),
    Column(key="memory", title="ACCELERATOR MEMORY", right=True),
    Column(key="efa", title="EFA PER NODE", right=True),
    Column(key="capacity", title="CAPACITY"),
)


def machines_section(fleet: Fleet) -> Section:
    """Return the instances by owner and type, and the totals for the maximum counts."""
    found = [(machines, facts_of_machines(machines)) for machines in machines_of(fleet)]
    reported = [(machines, facts) for machines, facts in found if machines.count]
    table = Table(columns=_MACHINES_COLUMNS, rows=[_machines_row(machines, facts) for machines, facts in reported])
    totals = _totals(reported)
    return Section(
        key="machines",
        title="Instances",
        parts=[table, _machines_in_words(totals)] if reported else ["none"],
        data={"groups": [_machines_data(machines, facts) for machines, facts in found], "at_most": totals},
    )


_ACCELERATORS = {"gpu": "GPU", "neuron": "Neuron device"}


def _machines_row(machines: Machines, facts: MachineFacts | None) -> dict[str, Cell]:
    row: dict[str, Cell] = {
        "owner": machines.owner,
        "type": ", ".join(machines.instance_types) or "of the capacity block",
        "count": count_range(machines.minimum, machines.count),
        "capacity": str(machines.capacity),
    }
    if facts is None:
        return {**row, "vcpus": "unknown"}
    if facts.vcpus is not None:
        row["vcpus"] = f"{facts.vcpus * machines.count:,}"
    if facts.accelerators and facts.accelerator is not None:
        number = facts.accelerators * machines.count
        row["accelerators"] = f"{number:,} {_ACCELERATORS[facts.accelerator]}{'' if number == 1 else 's'}"
        gib = facts.accelerator_gib
        row["memory"] = "unknown" if gib is None else f"{gib * machines.count:,} GiB"
    if facts.efa_interfaces:
        row["efa"] = "unknown" if facts.efa_gbps is None else f"{facts.efa_gbps:g} Gbit/s"
    return row


def _totals(reported: list[tuple[Machines, MachineFacts | None]]) -> dict[str, Any]:
    known = [(machines.count, facts) for machines, facts in reported if facts is not None]
    return {
        "machines": sum(machines.count for machines, _ in reported),
        "vcpus": sum(count * (facts.vcpus or 0) for count, facts in known),
        "accelerators": sum(count * facts.accelerators for count, facts in known),
        "accelerator_memory_gib": sum(count * (facts.accelerator_gib or 0) for count, facts in known),
        "efa_gbps": sum(count * (facts.efa_gbps or 0) for count, facts in known),
        "unknown_types": sorted({machines.instance_type for machines, facts in reported if facts is None}),
    }


def _machines_in_words(totals: dict[str, Any]) -> str:
    parts = [f"{totals['machines']:,} instance{'' if totals['machines'] == 1 else 's'}", f"{totals['vcpus']:,} vCPUs"]
    if totals["accelerators"]:
        parts.append(f"{totals['accelerators']:,} accelerators")
    if totals["accelerator_memory_gib"]:
        parts.append(f"{totals['accelerator_memory_gib']:,} GiB of accelerator memory")
    if totals["efa_gbps"]:
        parts.append(f"{totals['efa_gbps'] / 1000:g} Tbit/s of EFA bandwidth")
    text = f"total of all rows, at the maximum counts: {', '.join(parts)}"
    unknown = [name or "a capacity block's" for name in totals["unknown_types"]]
    return f"{text}; not counted, because the catalog does not have them: {', '.join(unknown)}" if unknown else text


def _machines_data(machines: Machines, facts: MachineFacts | None) -> dict[str, Any]:
    return {
        "owner": machines.owner,
        "path": list(machines.path),
        "service": str(machines.service),
        "instance_types": list(machines.instance_types),
        "minimum": machines.minimum,
        "maximum": machines.count,
        "availability_zone_ids": list(machines.availability_zone_ids),
        "capacity": str(machines.capacity),
        "capacity_id": machines.capacity_id,
        "each": None
        if facts is None
        else {
            "vcpus": facts.vcpus,
            "memory_gib": facts.memory_gib,
            "accelerator": facts.accelerator,
            "accelerators": facts.accelerators,
            "accelerator_memory_gib": facts.accelerator_gib,
            "efa_interfaces": facts.efa_interfaces,
            "efa_gbps": facts.efa_gbps,
        },
    }


_NETWORK_COLUMNS = (
    Column(key="zone", title="AZ"),
    Column(key="subnet", title="COMPUTE SUBNET"),
    Column(key="addresses", title="ADDRESSES USED", right=True),
    Column(key="needed", title="NEEDED", right=True),
    Column(key="given", title="AVAILABLE", right=True),
    Column(key="interfaces", title="INTERFACES", right=True),
    Column(key="quota", title="QUOTA USED", right=True),
)


def network_section(fleet: Fleet) -> Section:
    """Return the usage of addresses in compute subnets and of the network interface quota by all nodes, per AZ."""
    title = "Addresses and network interfaces"
    if fleet.network is None:
        return Section(key="network", title=title, parts=["the fleet has no network"])
    plan = address_plan(fleet, fleet.network)
    facts = address_facts()
    quota = f"QUOTA USED: share of the quota `{facts.interface_quota_name}` ({facts.interface_quota_code}), which AWS "
    quota += "enforces in each AZ, despite its name"
    needed = "NEEDED: the addresses used, those for the replacement of one node, and "
    needed += f"{facts.reserved_per_subnet} that AWS reserves"
    return Section(
        key="network",
        title=title,
        parts=[
            Table(columns=_NETWORK_COLUMNS, rows=[_network_row(zone, plan) for zone in plan.zones]),
            f"{needed}; {quota}",
            *plan.assumptions,
        ],
        data=_network_data(plan),
    )


def _network_row(zone: ZonePlan, plan: AddressPlan) -> dict[str, Cell]:
    given = zone.addresses_given
    return {
        "zone": zone.availability_zone_id,
        "subnet": zone.subnet_cidr or "size unknown",
        "addresses": f"{zone.addresses:,}",
        "needed": f"{zone.addresses_needed:,}",
        "given": "unknown" if given is None else f"{given:,}",
        "interfaces": f"{zone.interfaces:,} of {plan.interface_quota:,}",
        "quota": f"{plan.quota_share(zone):.1%}",
    }


def _network_data(plan: AddressPlan) -> dict[str, Any]:
    return {
        "interface_quota": {"code": address_facts().interface_quota_code, "value": plan.interface_quota},
        "zones": [
            {
                "availability_zone_id": zone.availability_zone_id,
                "compute_subnet": zone.subnet_cidr,
                "addresses_taken": zone.addresses,
                "addresses_needed": zone.addresses_needed,
                "addresses_given": zone.addresses_given,
                "interfaces": zone.interfaces,
                "claims": [
                    {"owner": claim.owner, "what": claim.what, "addresses": claim.addresses} for claim in zone.claims
                ],
            }
            for zone in plan.zones
        ],
        "assumptions": list(plan.assumptions),
    }


_RETAINED_COLUMNS = (
    Column(key="stack", title="STACK"),
    Column(key="type", title="TYPE"),
    Column(key="where", title="CONSTRUCT", wraps=True),
)
_FREE = frozenset(
    {
        *("AWS::EC2::SecurityGroup", "AWS::EC2::SecurityGroupEgress", "AWS::EC2::SecurityGroupIngress"),
        *("AWS::EC2::Subnet", "AWS::EC2::VPC", "AWS::EC2::VPCCidrBlock"),
        *("AWS::FSx::DataRepositoryAssociation", "AWS::IAM::ManagedPolicy", "AWS::IAM::Policy", "AWS::IAM::Role"),
        *("AWS::KMS::Alias", "AWS::RDS::DBClusterParameterGroup", "AWS::RDS::DBParameterGroup"),
        *("AWS::RDS::DBSubnetGroup", "AWS::S3::BucketPolicy", "AWS::SageMaker::StudioLifecycleConfig"),
        *("AWS::SageMaker::UserProfile", "AWS::SecretsManager::SecretTargetAttachment", "Custom::LlmFleetBundle"),
    }
)
"""Types for which AWS charges nothing; data that belongs to them is in a file system, bucket or Studio domain."""
_ORDER = (
    *("AWS::SageMaker::Cluster", "Custom::PclusterCluster", "AWS::CloudFormation::Stack"),
    *("AWS::FSx::FileSystem", "AWS::FSx::Volume", "AWS::RDS::DBCluster", "AWS::RDS::DBInstance"),
    *("AWS::SageMaker::Domain", "AWS::SageMaker::NotebookInstance", "AWS::S3::Bucket", "AWS::DynamoDB::Table"),
)
_SMALL_COSTS = ("AWS::Logs::LogGroup", "AWS::SecretsManager::Secret", "AWS::KMS::Key")


def costs_money(resource_type: str) -> bool:
    """Return whether AWS charges for resources of this type, or for what they contain."""
    return resource_type not in _FREE


def _place(resource_type: str) -> int:
    """Return the place in the table: high costs first, then unknown types, then small costs, then none."""
    if resource_type in _ORDER:
        return _ORDER.index(resource_type)
    if resource_type in _SMALL_COSTS:
        return len(_ORDER) + 1 + _SMALL_COSTS.index(resource_type)
    return len(_ORDER) + (len(_SMALL_COSTS) + 1 if resource_type in _FREE else 0)


def retained_section(stacks: Sequence[StackTemplate]) -> Section:
    """Return what `cdk destroy` retains, or keeps a snapshot of: a table of what costs money, and all in the data."""
    kept = [
        {
            "stack": stack.name,
            "type": str(resource.get("Type")),
            "policy": resource.get("DeletionPolicy", "Snapshot"),
            "where": stack.where(logical_id),
            "logical_id": logical_id,
        }
        for stack in stacks
        for logical_id, resource in stack.resources.items()
        if stack.is_kept(logical_id) or stack.leaves_snapshot(logical_id)
    ]
    kept.sort(key=lambda one: _place(one["type"]))
    return Section(
        key="retained",
        title="Retained after `cdk destroy`",
        parts=_retained_parts(kept),
        data=kept,
    )


def _retained_parts(kept: Sequence[dict[str, Any]]) -> list[Table | str]:
    if not kept:
        return ["nothing"]
    paid = [one for one in kept if costs_money(one["type"])]
    free = f"{counted(len(kept) - len(paid), 'resource')} without charge, which --json lists"
    if not paid:
        return [f"only {free}"]
    snapshots = sum(one["policy"] == "Snapshot" for one in paid)
    as_snapshot = f" ({snapshots} as a snapshot)" if snapshots else ""
    text = (
        f"after `cdk destroy`, this resource{as_snapshot} remains in your account and costs money until you delete it"
        if len(paid) == 1
        else f"after `cdk destroy`, these {len(paid)} resources{as_snapshot} remain in your account and cost money "
        "until you delete them"
    )
    return [Table(columns=_RETAINED_COLUMNS, rows=paid), f"{text}; also {free}" if len(paid) < len(kept) else text]


_LUSTRE_COLUMNS = (
    Column(key="run", title="RUN"),
    Column(key="nodes", title="NODES", right=True),
    Column(key="checkpoint", title="CHECKPOINT", right=True),
    Column(key="seconds", title="WRITTEN IN", right=True),
    Column(key="wanted", title="TARGET", right=True),
    Column(key="verdict", title=""),
)
_CLUSTERS = (MachineService.HYPERPOD, MachineService.PARALLELCLUSTER)
_GB = 1000**3


def lustre_section(fleet: Fleet) -> Section | None:
    """Return the section; `None` if the fleet creates no Lustre file system."""
    supply = lustre_supply(fleet)
    if supply is None:
        return None
    nodes = sum(machines.count for machines in machines_of(fleet) if machines.service in _CLUSTERS)
    needs = list(_needs(fleet, supply))
    return Section(
        key="lustre",
        title="Lustre",
        parts=[
            _lustre_in_words(supply, nodes),
            *([Table(columns=_LUSTRE_COLUMNS, rows=[_lustre_row(need) for need in needs]), _rule()] if needs else []),
            *(
                Toned(f"note: {need.run}: {need.remedy} under storage.fsx", Tone.WARNING)
                for need in needs
                if need.short
            ),
        ],
        data=_lustre_data(supply, nodes, needs),
    )


def _needs(fleet: Fleet, supply: LustreSupply) -> list[CheckpointNeed]:
    if not fleet.jobs:
        return []
    from llm_fleet.jobs.render_run import training_runs
    from llm_fleet.rules.training.run import checkpoint_bytes

    runs: Mapping[str, TrainingRun] = training_runs(fleet)
    return [
        CheckpointNeed(
            run=name,
            nodes=run.plan.nodes,
            checkpoint_bytes=checkpoint_bytes(run.plan, run.shape.parameters),
            supply=supply,
        )
        for name, run in runs.items()
        if run.shape is not None
    ]


def _lustre_in_words(supply: LustreSupply, nodes: int) -> str:
    whole = f"{supply.mb_per_second:,} MB/s for all nodes together"
    return (
        f"{whole}; {supply.mb_per_second / nodes:,.0f} MB/s for each of {nodes:,} nodes if all read at the same time"
        if nodes
        else whole
    )


def _rule() -> str:
    minutes = lustre_need_facts().checkpoint_minutes
    return (
        f"TARGET: a checkpoint in {minutes} minutes, a rule of thumb without a source; training waits during that time"
    )


def _lustre_row(need: CheckpointNeed) -> dict[str, Cell]:
    return {
        "run": need.run,
        "nodes": need.nodes,
        "checkpoint": f"{need.checkpoint_bytes / _GB:,.0f} GB",
        "seconds": f"{need.seconds:,.0f} s",
        "wanted": f"{need.wanted_mb_per_second:,} MB/s",
        "verdict": Toned("short", Tone.WARNING) if need.short else Toned("enough", Tone.GOOD),
    }


def _lustre_data(supply: LustreSupply, nodes: int, needs: list[CheckpointNeed]) -> dict[str, Any]:
    return {
        "mb_per_second": supply.mb_per_second,
        "nodes": nodes,
        "checkpoint_minutes": lustre_need_facts().checkpoint_minutes,
        "runs": [
            {
                "run": need.run,
                "nodes": need.nodes,
                "checkpoint_bytes": need.checkpoint_bytes,
                "seconds": round(need.seconds, 1),
                "wanted_mb_per_second": need.wanted_mb_per_second,
                "short": need.short,
                "remedy": need.remedy if need.short else None,
            }
            for need in needs
        ],
    }
