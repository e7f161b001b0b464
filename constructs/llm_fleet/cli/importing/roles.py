"""Tells what the groups of a request do in Slurm, where the request itself does not."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from llm_fleet.catalog.instances import instances
from llm_fleet.cli.importing.notes import Notes
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import NodeType
from llm_fleet.spec.instance_group import SlurmRole

_WORDS: Mapping[SlurmRole, frozenset[str]] = {
    SlurmRole.CONTROLLER: frozenset({"controller", "head", "headnode", "master", "slurmctld"}),
    SlurmRole.LOGIN: frozenset({"login", "bastion"}),
    SlurmRole.COMPUTE: frozenset({"worker", "workers", "compute", "queue", "gpu", "trn", "trainium", "training"}),
}
"""What people call groups, by what these do."""


def infer_roles(groups: Sequence[Mapping[str, Any]], notes: Notes, problems: list[Problem]) -> dict[str, SlurmRole]:
    """Return the role of each group by name: as the request says, else by the group's name, else by what is left.

    Adds to `problems` when no controller, or more than one, can be told.
    """
    roles: dict[str, SlurmRole] = {}
    for group in groups:
        name = str(group["InstanceGroupName"])
        said = group.get("SlurmConfig", {}).get("NodeType")
        if said in set(NodeType):
            roles[name] = SlurmRole(str(said).lower())
        elif (guessed := _by_name(name)) is not None:
            roles[name] = guessed
            notes.chosen(f"{name} is the {guessed.value} group by its name: the request has no SlurmConfig for it")
    _fill_controller(groups, roles, notes)
    for group in groups:
        name = str(group["InstanceGroupName"])
        if name not in roles:
            roles[name] = SlurmRole.COMPUTE
            notes.chosen(f"{name} is a compute group, since another one is the controller")
    if groups and list(roles.values()).count(SlurmRole.CONTROLLER) != 1:
        problems.append(_ambiguous(roles))
    return roles


def _fill_controller(groups: Sequence[Mapping[str, Any]], roles: dict[str, SlurmRole], notes: Notes) -> None:
    """Take the only group of one plain instance for the controller, where none has been told."""
    if SlurmRole.CONTROLLER in roles.values():
        return
    candidates = [
        str(group["InstanceGroupName"])
        for group in groups
        if group["InstanceGroupName"] not in roles and group.get("InstanceCount") == 1 and not _accelerated(group)
    ]
    if len(candidates) == 1:
        roles[candidates[0]] = SlurmRole.CONTROLLER
        notes.chosen(f"{candidates[0]} is the controller group: the only one of a single instance without accelerator")


def _by_name(name: str) -> SlurmRole | None:
    words = set(re.split(r"[^a-z]+", name.lower()))
    found = [role for role, own in _WORDS.items() if words & own]
    return found[0] if len(found) == 1 else None


def _accelerated(group: Mapping[str, Any]) -> bool:
    bare = str(group.get("InstanceType", "")).removeprefix("ml.")
    facts = instances().get(f"ml.{bare}")
    return facts is not None and facts.accelerator is not None


def _ambiguous(roles: Mapping[str, SlurmRole]) -> Problem:
    controllers = [name for name, role in roles.items() if role is SlurmRole.CONTROLLER]
    told = f"these could all be it: {', '.join(controllers)}" if controllers else "none of its groups looks like it"
    return Problem(
        code=Code.REQUEST_ROLES,
        message=f"the request does not tell which group is the controller, and {told}",
        remedy='add `"SlurmConfig": {"NodeType": "Controller"}` to it, and `"Compute"` or `"Login"` to the others',
        path=("InstanceGroups",),
        value=list(roles),
        allowed="exactly one controller group",
    )
