"""Turns a request into the values of a fleet file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llm_fleet.cli.importing.group import translate_group
from llm_fleet.cli.importing.notes import Notes
from llm_fleet.cli.importing.place import tell_network, tell_region
from llm_fleet.cli.importing.roles import infer_roles
from llm_fleet.cli.importing.scripts import lifecycle
from llm_fleet.cli.importing.volumes import group_volumes, storage, unmounted
from llm_fleet.config.check_names import fleet_name_of
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem

_NOT_CARRIED = {
    "RestrictedInstanceGroups": "restricted groups are for Nova models on EKS",
    "RestrictedInstanceGroupsConfig": "restricted groups are for Nova models on EKS",
    "TieredStorageConfig": "tiered storage is for EKS",
    "AutoScaling": "Karpenter is for EKS",
    "ClusterRole": "it is for autoscaling on EKS",
}
_SHORT = 30
"""Characters of a file's name that a cluster is called after: with accounting, ParallelCluster takes few more."""
_ACCOUNT = re.compile(r"arn:[a-z-]+:iam::(\d{12}):role/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the user says beside the request."""

    stem: str
    """Name of the request's file, without its ending: where it is short, it names a cluster without a name."""
    name: str | None = None
    """Of the cluster."""
    region: str | None = None
    zones: Sequence[str] = ()
    vpc: str | None = None

    def cluster_name(self, written: str, notes: Notes) -> str:
        """Return how the cluster is called; `written` is its name in the request, empty where it has none there."""
        if self.name is not None:
            if written not in ("", self.name):
                notes.mended(f"ClusterName {written} is {self.name}, as asked")
            return self.name
        if written:
            return written
        after_file = fleet_name_of(self.stem)
        if after_file and len(self.stem) <= _SHORT:
            notes.chosen(f"the cluster is called {after_file}, after the file; --name gives it another name")
            return after_file
        notes.chosen("the cluster is called cluster: the file's name is no short name; --name gives it another")
        return "cluster"


@dataclass(slots=True)
class Translation:
    """The fleet file's values, or why there are none."""

    fleet: dict[str, Any] = field(default_factory=dict[str, Any])
    problems: list[Problem] = field(default_factory=list[Problem])


def translate(request: Mapping[str, Any], asked: Asked, notes: Notes) -> Translation:
    """Return the fleet file's values for a request that is in the API's form."""
    result = Translation()
    groups = _groups(request, result.problems)
    if "Eks" in request.get("Orchestrator", {}):
        result.problems.append(_eks(request["Orchestrator"]["Eks"]))
    if result.problems:
        return result
    cluster_name = asked.cluster_name(str(request.get("ClusterName", "")), notes)
    region = tell_region(request, asked.region, asked.zones, notes, result.problems)
    network = tell_network(request, asked.zones, asked.vpc, notes, result.problems)
    roles = infer_roles(groups, notes, result.problems)
    if result.problems:
        return result
    shared = storage(groups, notes)
    cluster, by_group = _cluster(request, groups, notes)
    account = _account(groups)
    cluster["groups"] = {
        str(group["InstanceGroupName"]): {
            **translate_group(group, roles[str(group["InstanceGroupName"])], notes),
            **by_group.get(str(group["InstanceGroupName"]), {}),
            **group_volumes(group, account, region, notes),
            **unmounted(group, shared),
        }
        for group in groups
    }
    result.fleet = {
        "fleet": fleet_name_of(cluster_name) or "fleet",
        "region": region,
        "network": network,
        **({"storage": shared} if shared else {}),
        "clusters": {cluster_name: cluster},
    }
    return result


def _groups(request: Mapping[str, Any], problems: list[Problem]) -> list[Mapping[str, Any]]:
    groups: list[Mapping[str, Any]] = request.get("InstanceGroups", [])
    if not groups:
        problems.append(_no_groups("there are no InstanceGroups in the request", ("InstanceGroups",)))
    names: list[str] = []
    for index, group in enumerate(groups):
        name = group.get("InstanceGroupName")
        if name is None:
            problems.append(_no_groups("this group has no InstanceGroupName", ("InstanceGroups", index)))
        elif name in names:
            problems.append(_no_groups(f"two groups are called {name}", ("InstanceGroups", index)))
        else:
            names.append(str(name))
    return groups


def _no_groups(message: str, path: tuple[str | int, ...]) -> Problem:
    remedy = "give each instance group of the request an InstanceGroupName of its own"
    return Problem(code=Code.REQUEST_SHAPE, message=message, remedy=remedy, path=path)


def _cluster(
    request: Mapping[str, Any], groups: Sequence[Mapping[str, Any]], notes: Notes
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the keys of the cluster, and those of each group that come from a setting of the whole cluster."""
    told: dict[str, Any] = {"kind": "hyperpod"}
    slurm = request.get("Orchestrator", {}).get("Slurm", {})
    if "NodeProvisioningMode" not in request:
        if "SlurmConfigStrategy" in slurm:
            told |= {"provisioning": "none", "slurm_config": slurm["SlurmConfigStrategy"]}
        else:
            notes.chosen("Continuous provisioning, the fleet's default: the request has no NodeProvisioningMode")
    elif "SlurmConfigStrategy" in slurm:
        told["slurm_config"] = slurm["SlurmConfigStrategy"]
    if request.get("NodeRecovery", "Automatic") != "Automatic":
        told["node_recovery"] = request["NodeRecovery"]
    if "AccountingDatabase" in slurm:
        told["accounting"] = _accounting(slurm["AccountingDatabase"])
    if "Tags" in request:
        told["tags"] = {str(tag.get("Key", "")): str(tag.get("Value", "")) for tag in request["Tags"]}
    scripts = lifecycle(groups, notes)
    for role in dict.fromkeys(str(group["ExecutionRole"]) for group in groups if "ExecutionRole" in group):
        notes.left_out(
            f"ExecutionRole {role}: the fleet builds a role with what its features need and nothing else; "
            "to keep yours, write it as `execution_role` of the cluster or of a group"
        )
    for member, reason in _NOT_CARRIED.items():
        if member in request:
            notes.left_out(f"{member}: {reason}")
    return told | scripts.cluster, scripts.groups


def _accounting(database: Mapping[str, Any]) -> dict[str, Any]:
    keys = {"Endpoint": "endpoint", "SecretArn": "secret", "Port": "port", "Name": "database"}
    return {key: database[member] for member, key in keys.items() if member in database}


def _account(groups: Sequence[Mapping[str, Any]]) -> str | None:
    roles = " ".join(str(group.get("ExecutionRole", "")) for group in groups)
    match = _ACCOUNT.search(roles)
    return match[1] if match else None


def _eks(config: Any) -> Problem:
    return Problem(
        code=Code.REQUEST_NOT_SLURM,
        message="this cluster is orchestrated by EKS; llm-fleet makes HyperPod clusters with Slurm",
        remedy="import the request of a Slurm cluster, or remove `Orchestrator.Eks` to have Slurm in its place",
        path=("Orchestrator", "Eks"),
        value=config,
    )
