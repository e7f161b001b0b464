"""Refuses at synth what an update would refuse at deployment, where it can leave a stack that is hard to save."""

from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.identity import immutable_parts
from llm_fleet.rules.parallelcluster.terms import ImmutableChanges
from llm_fleet.rules.parallelcluster.update.plan import (
    VERSION,
    PlannedChange,
    UpdatePlan,
    plan_update,
    reasons_for_new_cluster,
)
from llm_fleet.rules.parallelcluster.update.protocols import DeployedLike, Target
from llm_fleet.rules.parallelcluster.update.values import Section
from llm_fleet.rules.parallelcluster.update.verdict import Verdict
from llm_fleet.rules.problem import Problem

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
    """Return what keeps the cluster `deployed` from becoming the one of `configuration`.

    `cluster_name` is ParallelCluster's name of the new one, with its hash; another name than the deployed one's is the
    sign of a new cluster. `fleet_is_stopped` is the user's word that someone has stopped the compute fleet. Tokens of
    the CDK are to be resolved in `configuration`.
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
    """Return what keeps `plan` from being carried out; names and versions count where both sides tell them."""
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
    """Return whether the two are known to bear different names, so that the new one is made beside the old one."""
    return None not in (old.cluster_name, new.cluster_name) and old.cluster_name != new.cluster_name


def _new_cluster(plan: UpdatePlan, old: DeployedLike, new: DeployedLike) -> list[Problem]:
    """Tell why there would be a new cluster; what the update itself would refuse is of no matter to a new one."""
    reasons = reasons_for_new_cluster(plan)
    if reasons:
        return [_problem(change) for change in reasons]
    return [
        Problem(
            code=Code.PC_UPDATE_RENAMED,
            message=f"the cluster deployed last is named {old.cluster_name}: another name is a new cluster",
            remedy="if that is meant, set immutable_changes to new-cluster; if not, put back the name, and what its "
            "hash is made of: see `llm-fleet update-plan`",
            path=("cluster_name",),
            value=new.cluster_name,
        )
    ]


def _other_identity(plan: UpdatePlan, old: DeployedLike, new: DeployedLike) -> bool:
    """Tell whether the hashes in the two names would differ."""
    versions_differ = any(change.policy == VERSION for change in plan.changes)
    return versions_differ or immutable_parts(old.configuration) != immutable_parts(new.configuration)


def _problem(change: PlannedChange) -> Problem:
    return Problem(
        code=_CODES[change.verdict],
        message=f"{change.where} was {_told(change.old)}, and its change {change.verdict.value}: {change.reason}",
        remedy=change.remedy,
        path=change.path,
        value=change.new,
    )


def _name_stays(change: PlannedChange) -> Problem:
    """A change that needs a new cluster but is no part of the hash, so that there would be none."""
    told = _problem(change)
    remedy = "name the cluster anew: this key is no part of the hash in its name"
    return Problem(code=Code.PC_UPDATE_RENAMED, message=told.message, remedy=remedy, path=told.path, value=told.value)


def _told(value: object) -> str:
    return "not there" if value is None else repr(value)
