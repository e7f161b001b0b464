"""What a deployment would change."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from llm_fleet.cli.plan.cluster_changes import GroupChange, hyperpod_changes, parallelcluster_changes
from llm_fleet.cli.plan.fleet_sections import Section
from llm_fleet.cli.plan.refused_updates import RefusedUpdate, kept_blocks, refused_updates
from llm_fleet.cli.plan.stack_templates import DeployedStacks, LeftStack, StackTemplate
from llm_fleet.cli.plan.template_changes import ChangeKind, Loss, ResourceChange, losses, template_changes
from llm_fleet.cli.terminal.screen import Tone, Toned
from llm_fleet.cli.terminal.table import Column, Table
from llm_fleet.rules.feature_codes import PlanCode
from llm_fleet.rules.parallelcluster.update_plan import UpdatePlan

_COLUMNS = (
    Column(key="kind", title="WHAT"),
    Column(key="type", title="TYPE"),
    Column(key="where", title="CONSTRUCT"),
    Column(key="properties", title="PROPERTIES", wraps=True),
)
_TONES = {
    ChangeKind.ADDED: Tone.GOOD,
    ChangeKind.CHANGED: Tone.PLAIN,
    ChangeKind.REMOVED: Tone.BAD,
    ChangeKind.REPLACED: Tone.BAD,
}
_LIMITS = (
    "compared is what stands in the templates; drift and what custom resources decide are not known: `cdk diff` asks "
    "CloudFormation for a change set"
)

_NO_FLAGS = (
    "there is no cdk.json in or above {}: the fleet was synthesized without the feature flags that it is deployed "
    "with, and this difference, replacements too, may be theirs alone; run the plan in your app's folder, or name with "
    "--assembly what `cdk synth` wrote there"
)


def difference_section(
    planned: Sequence[StackTemplate], deployed: DeployedStacks, *, without_flags: str | None = None
) -> Section:
    """Return the difference of each stack; of what AWS did not tell, that it did not.

    `without_flags`: where no cdk.json was found, if `planned` was synthesized without its feature flags.
    """
    known = [(deployed.found[stack.name], stack) for stack in planned if stack.name in deployed.found]
    changes = [change for old, new in known for change in template_changes(old, new)]
    groups = [change for old, new in known for change in hyperpod_changes(old, new)]
    plans = [plan for old, new in known for plan in parallelcluster_changes(old, new)]
    refused = refused_updates(deployed.found, planned, changes)
    lost = losses(deployed.found, planned, changes)
    missing = [stack.name for stack in planned if stack.name not in deployed.found]
    return Section(
        key="difference",
        title="Difference to what is deployed",
        parts=[
            *_missing(missing, deployed),
            *([Toned(_NO_FLAGS.format(without_flags), Tone.WARNING)] if changes and without_flags else []),
            *([Table(columns=_COLUMNS, rows=[_row(change) for change in changes])] if changes else []),
            *(part for one in refused for part in _refused(one)),
            *(_kept_block(one, block) for one, block in kept_blocks(deployed.found, changes)),
            *(_lost(one) for one in lost),
            *(_group(change) for change in groups),
            *(part for plan in plans for part in _plan(*plan)),
            *_left(deployed),
            *(["nothing changes in the stacks that are deployed"] if known and not changes else []),
            *([_LIMITS] if changes or (known and missing) else []),
        ],
        data={
            **_data(missing, changes, groups, plans, deployed),
            "refused_updates": [{"code": PlanCode.REFUSED.value, **asdict(one)} for one in refused],
            "losses": [asdict(one) for one in lost],
            "left_stacks": [{"code": PlanCode.LEFT_STACK.value, **asdict(one)} for one in deployed.left],
            "without_flags_of": without_flags,
        },
    )


def _missing(missing: Sequence[str], deployed: DeployedStacks) -> Iterator[Toned]:
    if deployed.refused is not None:
        told = f"not known of {', '.join(missing)}: {deployed.refused.message}"
        yield Toned(f"{told}; {deployed.refused.remedy} [{deployed.refused.code}]", Tone.BAD)
    elif missing:
        yield Toned(f"not deployed yet, and wholly new: {', '.join(missing)}", Tone.GOOD)


def _left(deployed: DeployedStacks) -> Iterator[Toned]:
    problem = deployed.not_listed
    if problem is not None:
        unknown = f"not known whether stacks are deployed that the fleet file no longer has: {problem.message}"
        yield Toned(f"{unknown}; {problem.remedy} [{problem.code}]", Tone.BAD)
    for one in deployed.left:
        yield Toned(_left_in_words(one), Tone.WARNING)


def _left_in_words(one: LeftStack) -> str:
    return (
        f"{one.name} is deployed, and the fleet file no longer has it: a deployment leaves it running, with its costs. "
        f"To delete it: `{one.destroy}` [{PlanCode.LEFT_STACK.value}]"
    )


def _refused(one: RefusedUpdate) -> Iterator[Toned]:
    verdict = "will be rolled back" if one.certain else "may be rolled back"
    told = f"the update of {one.stack} {verdict}: {one.where}: {one.why}"
    if one.used_by:
        users = " ".join(one.used_by)
        told += (
            f": {', '.join(one.used_by)}. To remove it, first deploy the stacks that use it, without it: "
            f"`npx cdk deploy --exclusively {users}`"
        )
    told += ". Afterwards, look for a second, new copy of it, which AWS has made first" if one.leaves_copy else ""
    yield Toned(f"{told} [{PlanCode.REFUSED.value}]", Tone.BAD if one.certain else Tone.WARNING)


def _kept_block(change: ResourceChange, block: str) -> Toned:
    return Toned(
        f"{change.where}: the subnet leaves the stack and stays, with its block {block}: an AZ put in its place "
        "later gets the same block, and EC2 refuses it (InvalidSubnet.Conflict) until this subnet is deleted",
        Tone.WARNING,
    )


def _lost(one: Loss) -> Toned:
    return Toned(f"{one.where}: {one.what} [{one.code}]", Tone.BAD)


def _group(change: GroupChange) -> Toned:
    code = f" [{change.code}]" if change.code else ""
    return Toned(
        f"{change.stack}: {change.group}: {change.what}{code}",
        Tone.BAD if change.refused or change.code else Tone.PLAIN,
    )


def _row(change: ResourceChange) -> dict[str, Any]:
    return {
        "kind": Toned(change.kind.value, _TONES.get(change.kind, Tone.WARNING)),
        "type": change.type,
        "where": change.where,
        "properties": ", ".join(change.properties),
    }


def _plan(name: str, plan: UpdatePlan, another: bool) -> Iterator[Toned]:
    if another:
        yield Toned(f"{name}: a new cluster, beside the old one, which goes once it stands", Tone.WARNING)
    for change in plan.changes:
        remedy = f"; {change.remedy}" if change.remedy else ""
        tone = Tone.PLAIN if change.verdict.passes else Tone.BAD
        yield Toned(f"{name}: {change.where}: {change.verdict.value}: {change.reason}{remedy}", tone)


def _data(
    missing: Sequence[str],
    changes: Sequence[ResourceChange],
    groups: Sequence[GroupChange],
    plans: Sequence[tuple[str, UpdatePlan, bool]],
    deployed: DeployedStacks,
) -> dict[str, Any]:
    refused = deployed.refused or deployed.not_listed
    return {
        "asked": sorted(deployed.found),
        "not_deployed": [] if deployed.refused else list(missing),
        "not_known": list(missing) if deployed.refused else [],
        "refused": refused,
        "resources": [
            {
                "stack": change.stack,
                "where": change.where,
                "logical_id": change.logical_id,
                "type": change.type,
                "what": change.kind.name.lower(),
                "properties": list(change.properties),
            }
            for change in changes
        ],
        "hyperpod_groups": [asdict(change) for change in groups],
        "parallelclusters": [
            {
                "cluster": name,
                "new_cluster": another,
                "passes": plan.passes,
                "changes": [
                    {"path": one.where, "verdict": one.verdict.name, "reason": one.reason} for one in plan.changes
                ],
            }
            for name, plan, another in plans
        ],
    }
