"""The plan, and its section about the changes of an update."""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from llm_fleet.cli.clients import AwsClients
from llm_fleet.cli.plan.cluster_changes import GroupChange, hyperpod_changes, parallelcluster_changes
from llm_fleet.cli.plan.cost import cost_section, price_table
from llm_fleet.cli.plan.fleet_sections import (
    Section,
    costs_money,
    lustre_section,
    machines_section,
    network_section,
    retained_section,
)
from llm_fleet.cli.plan.node_configuration import NodeConfiguration, node_configurations
from llm_fleet.cli.plan.refused_updates import RefusedUpdate, kept_blocks, refused_updates
from llm_fleet.cli.plan.stack_templates import (
    DeployedStacks,
    LeftStack,
    StackTemplate,
    account_of,
    has_credentials,
    synthesize,
    synthesized_stacks,
    without_flags,
)
from llm_fleet.cli.plan.template_changes import (
    ChangeKind,
    Loss,
    ResourceChange,
    losses,
    template_changes,
    upgrade_notes,
)
from llm_fleet.cli.screen import Screen, Tone, Toned, print_json
from llm_fleet.cli.table import Column, Table
from llm_fleet.cli.verb import ExitCode, refuse
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.load import load_fleet
from llm_fleet.needs.fleet_cost import cost_of
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
    "only the templates are compared: drift and what custom resources decide are unknown; for CloudFormation's own "
    "answer, run `npx cdk diff` (it creates a change set and deploys nothing)"
)

_NO_FLAGS = (
    "there is no cdk.json in or above {}: the fleet was synthesized without the feature flags of its deployment, "
    "which can cause this difference, including replacements; run the plan in your app's directory, or set "
    "--assembly to the output of `cdk synth` there"
)


def difference_section(
    planned: Sequence[StackTemplate],
    deployed: DeployedStacks,
    *,
    account: str | None = None,
    region: str | None = None,
    without_flags: str | None = None,
) -> Section:
    """Return the difference of each stack, or why it is unknown.

    `account`, `region`: those of `deployed`, for the heading, if known.
    `without_flags`: directories without a cdk.json, if `planned` was synthesized without its feature flags.
    """
    known = [(deployed.found[stack.name], stack) for stack in planned if stack.name in deployed.found]
    changes = [change for old, new in known for change in template_changes(old, new)]
    groups = [change for old, new in known for change in hyperpod_changes(old, new)]
    plans = [plan for old, new in known for plan in parallelcluster_changes(old, new)]
    refused = refused_updates(deployed.found, planned, changes)
    lost = losses(deployed.found, planned, changes)
    configurations = list(node_configurations(deployed.found, planned, changes))
    notes = [(change.where, note) for change, note in upgrade_notes(changes)]
    missing = [stack.name for stack in planned if stack.name not in deployed.found]
    return Section(
        key="difference",
        title=_title(account, region),
        parts=[
            *_missing(missing, deployed),
            *([Toned(_NO_FLAGS.format(without_flags), Tone.WARNING)] if changes and without_flags else []),
            *([Table(columns=_COLUMNS, rows=[_row(change) for change in changes])] if changes else []),
            *(part for one in refused for part in _refused(one)),
            *(_kept_block(one, block) for one, block in kept_blocks(deployed.found, changes)),
            *(_lost(one) for one in lost),
            *(Toned(f"{where}: changed by this version of llm-fleet: {note}", Tone.WARNING) for where, note in notes),
            *(_group(change) for change in groups),
            *(part for one in configurations for part in _configuration(one)),
            *(part for plan in plans for part in _plan(*plan)),
            *_left(deployed),
            *(
                [f"the {'other' if deployed.left else 'deployed'} stacks do not change"]
                if known and not changes
                else []
            ),
            *([_LIMITS] if changes or (known and missing) else []),
        ],
        data={
            "account": account,
            "region": region,
            **_data(missing, changes, groups, plans, deployed),
            "node_configurations": [asdict(one) for one in configurations],
            "refused_updates": [{"code": PlanCode.REFUSED.value, **asdict(one)} for one in refused],
            "upgrade_notes": [{"where": where, "note": note} for where, note in notes],
            "losses": [asdict(one) for one in lost],
            "left_stacks": [{"code": PlanCode.LEFT_STACK.value, **asdict(one)} for one in deployed.left],
            "without_flags_of": without_flags,
        },
    )


def _title(account: str | None, region: str | None) -> str:
    """Return the heading, with the endpoint of an AWS emulator if AWS_ENDPOINT_URL is set."""
    places = [account and f"account {account}", region, os.environ.get("AWS_ENDPOINT_URL")]
    where = ", ".join(place for place in places if place)
    return f"Difference from the deployed stacks{f' ({where})' if where else ''}"


def _missing(missing: Sequence[str], deployed: DeployedStacks) -> Iterator[Toned]:
    if deployed.refused is not None:
        reported = f"unknown for {', '.join(missing)}: {deployed.refused.message}"
        yield Toned(f"{reported}; {deployed.refused.remedy} [{deployed.refused.code}]", Tone.BAD)
    elif missing:
        yield Toned(f"new, not deployed yet: {', '.join(missing)}", Tone.GOOD)


def _left(deployed: DeployedStacks) -> Iterator[Toned]:
    problem = deployed.not_listed
    if problem is not None:
        unknown = f"deployed stacks that are no longer in the fleet file could not be listed: {problem.message}"
        yield Toned(f"{unknown}; {problem.remedy} [{problem.code}]", Tone.BAD)
    for one in deployed.left:
        yield Toned(_left_in_words(one), Tone.WARNING)


def _left_in_words(one: LeftStack) -> str:
    return (
        f"{one.name} is deployed, but no longer in the fleet file: a deployment does not delete it, and it continues "
        f"to cost money. To delete it: `{one.destroy}` [{PlanCode.LEFT_STACK.value}]"
    )


def _refused(one: RefusedUpdate) -> Iterator[Toned]:
    verdict = "will be rolled back" if one.certain else "may be rolled back"
    reported = f"the update of {one.stack} {verdict}: {one.where}: {one.why}"
    if one.used_by:
        users = " ".join(one.used_by)
        reported += (
            f": {', '.join(one.used_by)}. To remove it, first deploy the stacks that use it, without it: "
            f"`npx cdk deploy --exclusively {users}`"
        )
    reported += _copy(one.type) if one.leaves_copy else ""
    yield Toned(f"{reported} [{PlanCode.REFUSED.value}]", Tone.BAD if one.certain else Tone.WARNING)


_EMPTY_COPIES = {
    "AWS::DynamoDB::Table": "table",
    "AWS::FSx::FileSystem": "file system",
    "AWS::RDS::DBCluster": "database",
    "AWS::RDS::DBInstance": "database",
    "AWS::S3::Bucket": "bucket",
    "AWS::SageMaker::Domain": "Studio domain",
}


def _copy(resource_type: str) -> str:
    """Return the remedy for the new resource of an update that was rolled back."""
    noun = _EMPTY_COPIES.get(resource_type)
    copy = f"an empty second {noun}" if noun else f"a second resource of the type {resource_type}"
    cost = ": it costs money" if costs_money(resource_type) else ""
    return f". If this update was tried already, look for {copy} and delete it{cost}"


def _kept_block(change: ResourceChange, block: str) -> Toned:
    return Toned(
        f"{change.where}: the subnet is removed from the stack and retained with its CIDR block {block}: an AZ that "
        "replaces it gets the same block, which EC2 rejects (InvalidSubnet.Conflict) until this subnet is deleted",
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


def _configuration(one: NodeConfiguration) -> Iterator[Toned]:
    yield Toned(f"{one.stack}: {one.what}")
    yield from (Toned(f"  {line}") for line in (*one.nodes, *one.commands))
    for user in one.changed_uids:
        yield Toned(
            f"{one.stack}: the uid of {user.name} changes from {user.before} to {user.after}: do not change a uid: "
            f"existing files belong to {user.before}. Set `uid: {user.before}` again; if the change is necessary, "
            "first change the owner of the files",
            Tone.WARNING,
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
        yield Toned(f"{name}: CloudFormation creates a new cluster, and then deletes the old one", Tone.WARNING)
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
        "deployed": sorted(deployed.found),
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


_NOT_COMPARED = (
    "note: not compared with the deployed stacks, because there are no AWS credentials; `aws sts get-caller-identity` "
    "shows the identity that is used, and --no-aws skips the comparison"
)


def whole_plan(arguments: argparse.Namespace) -> int:
    """Print the sections of the plan when they are complete; as JSON at the end. Return the exit code.

    Sections from the fleet file are printed before a synthesis or a call to AWS can fail.
    """
    fleet = load_fleet(arguments.file)
    if arguments.picture is not None:
        from llm_fleet.cli.plan.picture_layout import graphviz

        graphviz()  # before the synthesis, which takes long
    screen = Screen.of_output()
    reported: dict[str, object] = {"fleet": fleet.name, "file": str(arguments.file), "region": fleet.region}
    code = ExitCode.FINE
    for section in _sections(fleet, arguments):
        reported[section.key] = section.data
        if section.key == "difference" and section.data["refused"] is not None:
            code = ExitCode.NOT_CHECKED
        if not arguments.json:
            print(section.text(screen), end="")
            sys.stdout.flush()
    if arguments.json:
        print_json(reported)
    return code


def _sections(fleet: Fleet, arguments: argparse.Namespace) -> Iterator[Section]:
    cost = cost_of(fleet, price_table(fleet, arguments))
    yield machines_section(fleet)
    yield network_section(fleet)
    lustre = lustre_section(fleet)
    if lustre is not None:
        yield lustre
    yield cost_section(cost)
    if arguments.no_synth and arguments.assembly is None:
        return
    clients = _clients(fleet, arguments)
    account = account_of(clients) if clients is not None else None
    with ExitStack() as stack:
        assembly: Path | None = arguments.assembly
        if assembly is None:
            assembly = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="llm-fleet-plan-")), "cdk.out")
            synthesize(arguments.file, assembly, account=account)
        yield from _of_assembly(assembly, fleet, clients, account, arguments)


def _of_assembly(
    assembly: Path, fleet: Fleet, clients: AwsClients | None, account: str | None, arguments: argparse.Namespace
) -> Iterator[Section]:
    stacks = synthesized_stacks(assembly)
    yield retained_section(stacks)
    if arguments.picture is not None:
        yield _picture(assembly, arguments)
    if clients is not None:
        flags = None if arguments.assembly else without_flags(arguments.file)
        deployed = DeployedStacks(clients, [stack.name for stack in stacks], fleet=fleet.name)
        yield difference_section(stacks, deployed, account=account, region=fleet.region, without_flags=flags)
    elif not arguments.no_aws:
        print(_NOT_COMPARED, file=sys.stderr)


def _clients(fleet: Fleet, arguments: argparse.Namespace) -> AwsClients | None:
    """Return the clients; `None` if AWS must not be called."""
    requested = not arguments.no_aws and (arguments.deployed or has_credentials())
    return AwsClients(region=fleet.region) if requested else None


def _picture(assembly: Path, arguments: argparse.Namespace) -> Section:
    from llm_fleet.cli.plan.picture_drawing import picture_of
    from llm_fleet.cli.write_files import write_file

    write_file(arguments.picture, picture_of(assembly), force=arguments.force)
    return Section(key="picture", title="Picture", parts=[f"wrote {arguments.picture}"], data=str(arguments.picture))


def refuse_without_synth(arguments: argparse.Namespace) -> None:
    """Refuse options that need a synthesis together with --no-synth (LF1085)."""
    if not arguments.no_synth or arguments.assembly is not None:
        return
    requested = [
        word for word, wanted in (("--picture", arguments.picture), ("--deployed", arguments.deployed)) if wanted
    ]
    if requested:
        refuse(
            PlanCode.NO_SYNTH,
            f"{' and '.join(requested)} requires the synthesized stacks",
            "remove --no-synth, or set --assembly",
        )
