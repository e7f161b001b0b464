"""Whether ParallelCluster rejects an update of a cluster, and whether a new cluster replaces it.

References to published scripts are compared by their content. A script is referred to by attributes of the custom
resource that publishes it, and the reference stays the same when the content changes. So a digest of the resource's
properties is added to it.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.cluster_names import immutable_parts
from llm_fleet.rules.parallelcluster.update_changes import Section, Verdict, as_list, items_at, section_at
from llm_fleet.rules.parallelcluster.update_plan import (
    VERSION,
    PlannedChange,
    UpdatePlan,
    plan_update,
    reasons_for_new_cluster,
)
from llm_fleet.rules.problem import Problem, rule
from llm_fleet.rules.terms import ImmutableChanges


class DeployedLike(Protocol):
    """The cluster as deployed."""

    @property
    def cluster_name(self) -> str | None:
        """Its name in ParallelCluster; `None` when the file does not have it."""
        ...

    @property
    def version(self) -> str | None:
        """Version of ParallelCluster; `None` when the file does not have it."""
        ...

    @property
    def configuration(self) -> Mapping[str, Any]:
        """ParallelCluster's configuration, intrinsic functions as they are in the template."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The cluster as it will be deployed; see `DeployedLike`."""

    configuration: Mapping[str, Any]
    cluster_name: str | None
    version: str | None


_CODES = {
    Verdict.NEEDS_NEW_CLUSTER: Code.PC_UPDATE_NEW_CLUSTER,
    Verdict.NEEDS_NEW_NAME: Code.PC_UPDATE_NEW_NAME,
    Verdict.NEEDS_STOPPED_FLEET: Code.PC_UPDATE_FLEET,
    Verdict.NEEDS_STOPPED_LOGIN_NODES: Code.PC_UPDATE_LOGIN_NODES,
}


def check_update(
    configuration: Section,
    deployed: DeployedLike,
    *,
    cluster_name: str,
    version: str,
    immutable_changes: ImmutableChanges = ImmutableChanges.REFUSE,
    fleet_is_stopped: bool = False,
) -> list[Problem]:
    """Return why the cluster `deployed` cannot be updated to `configuration`.

    `cluster_name` is the name of the new one in ParallelCluster, with its hash; a name that differs from the deployed
    one means a new cluster. `fleet_is_stopped`: the user states that the compute fleet is stopped. CDK tokens must be
    resolved in `configuration`.
    """
    new = Target(configuration=configuration, cluster_name=cluster_name, version=version)
    plan = plan_update(
        deployed.configuration,
        configuration,
        version_old=deployed.version,
        version_new=version,
        fleet_is_stopped=fleet_is_stopped,
    )
    return check_plan(plan, deployed, new, immutable_changes=immutable_changes)


def check_plan(
    plan: UpdatePlan, old: DeployedLike, new: DeployedLike, *, immutable_changes: ImmutableChanges
) -> list[Problem]:
    """Return why `plan` would fail; names and versions are compared when both sides have them."""
    may_be_new = immutable_changes is ImmutableChanges.NEW_CLUSTER
    if is_new_cluster(old, new):
        return [] if may_be_new else _new_cluster(plan, old, new)
    refused = [change for change in plan.changes if not change.verdict.passes]
    if not may_be_new:
        return [_problem(change) for change in refused]
    if None in (old.cluster_name, new.cluster_name) and _other_identity(plan, old, new):
        return []
    return [
        _name_stays(change) if change.verdict is Verdict.NEEDS_NEW_CLUSTER else _problem(change) for change in refused
    ]


def is_new_cluster(old: DeployedLike, new: DeployedLike) -> bool:
    """Return whether both names are known and differ, so that a new cluster is created."""
    return None not in (old.cluster_name, new.cluster_name) and old.cluster_name != new.cluster_name


@rule
def _new_cluster(plan: UpdatePlan, old: DeployedLike, new: DeployedLike) -> Iterator[Problem]:
    """Return why a new cluster would be created, where rules of updates do not apply."""
    reasons = reasons_for_new_cluster(plan)
    if reasons:
        for change in reasons:
            yield _problem(change)
    else:
        yield Problem(
            code=Code.PC_UPDATE_RENAMED,
            message=f"the deployed cluster has the name {old.cluster_name}: another name creates a new cluster",
            remedy="if that is intended, write `immutable_changes: new-cluster`; if not, restore the name, and "
            "the values that its "
            "hash is computed from: see `llm-fleet parallelcluster update-plan`",
            path=("cluster_name",),
            value=new.cluster_name,
        )


def _other_identity(plan: UpdatePlan, old: DeployedLike, new: DeployedLike) -> bool:
    """Return whether the hashes in the two names would differ."""
    versions_differ = any(change.policy == VERSION for change in plan.changes)
    return versions_differ or immutable_parts(old.configuration) != immutable_parts(new.configuration)


def _problem(change: PlannedChange) -> Problem:
    return Problem(
        code=_CODES[change.verdict],
        message=f"{change.where} was {_reported(change.old)}; its change {change.verdict.value}: {change.reason}",
        remedy=change.remedy,
        path=change.path,
        value=change.new,
    )


def _name_stays(change: PlannedChange) -> Problem:
    """A change that requires a new cluster but is not part of the hash, so that none would be created."""
    reported = _problem(change)
    remedy = "give the cluster another name: this key is not part of the hash in its name"
    return Problem(
        code=Code.PC_UPDATE_RENAMED, message=reported.message, remedy=remedy, path=reported.path, value=reported.value
    )


def _reported(value: object) -> str:
    return "missing" if value is None else repr(value)


_PLACE = ".place"
_PLACE_PROPERTIES = ("Bucket", "Root")
"""Properties of the resource that publishes a bundle, from which its fixed keys are made."""
_CUSTOM = ("Custom::", "AWS::CloudFormation::CustomResource")


def digests_of(resources: Mapping[str, Any]) -> dict[str, str]:
    """Return a digest of each custom resource of a template, by logical ID, and of its location, by `<id>.place`."""
    digests: dict[str, str] = {}
    for logical_id, resource in resources.items():
        if str(resource.get("Type")).startswith(_CUSTOM):
            reported = section_at(resource, "Properties")
            digests[logical_id] = _digest(reported)
            digests[f"{logical_id}{_PLACE}"] = _digest({name: reported.get(name) for name in _PLACE_PROPERTIES})
    return digests


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]


def _places(digests: Mapping[str, str]) -> dict[str, str]:
    return {name.removesuffix(_PLACE): digest for name, digest in digests.items() if name.endswith(_PLACE)}


def with_digests(configuration: Section, digests: Mapping[str, str]) -> Section:
    """Return `configuration` with the digest as a third part of each reference in hooks that an update runs again.

    Those are the queues' and `OnNodeUpdated`. The others change only with the bucket, so they get the digest of the
    bucket.
    """
    places = _places(digests)
    scheduling = section_at(configuration, "Scheduling")
    login = section_at(configuration, "LoginNodes")
    queues = [_marked_below(queue, digests, "CustomActions") for queue in items_at(scheduling, "SlurmQueues")]
    pools = [_marked_lasting(pool, digests, places) for pool in items_at(login, "Pools")]
    head = section_at(configuration, "HeadNode")
    marked = {**configuration, "HeadNode": _marked_lasting(head, digests, places)} if head else configuration
    if queues:
        marked = {**marked, "Scheduling": {**scheduling, "SlurmQueues": queues}}
    return {**marked, "LoginNodes": {**login, "Pools": pools}} if pools else marked


def _marked_lasting(node: Section, digests: Mapping[str, str], places: Mapping[str, str]) -> Section:
    updated = _marked_below(node, digests, "CustomActions", "OnNodeUpdated")
    return _marked_below(updated, places, "CustomActions", "OnNodeConfigured")


def _marked_below(section: Section, digests: Mapping[str, str], *path: str) -> Section:
    """A copy of `section` with the references below `path` marked."""
    if not path:
        return cast("Section", _marked(section, digests))
    below = section_at(section, path[0])
    return {**section, path[0]: _marked_below(below, digests, *path[1:])} if below else section


def _marked(value: Any, digests: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        section = cast("Section", value)
        attribute = as_list(section.get("Fn::GetAtt"))
        if attribute and attribute[0] in digests:
            return {"Fn::GetAtt": [*attribute, digests[attribute[0]]]}
        return {name: _marked(item, digests) for name, item in section.items()}
    return [_marked(item, digests) for item in as_list(value)] if isinstance(value, list) else value
