"""A run of `llm-fleet prove`: selects the experiments of a fleet, announces them, runs them and writes the report."""

from __future__ import annotations

import json
import secrets
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from llm_fleet.catalog.assumptions import Assumption, assumptions
from llm_fleet.catalog.experiments import Call, Request, experiments
from llm_fleet.cli.clients import AwsClients, AwsRefusal, aws_errors_reported
from llm_fleet.cli.plan.stack_templates import DeployedStacks, StackTemplate, synthesize, synthesized_stacks
from llm_fleet.cli.prove.experiment import Experimenter, Outcome, Verdict
from llm_fleet.cli.prove.listing import announce, print_claims, print_result
from llm_fleet.cli.prove.report import Run, page, report_of
from llm_fleet.cli.prove.undo_journal import UndoJournal, interrupted_runs
from llm_fleet.cli.screen import counted, plain_line, progress
from llm_fleet.cli.verb import ExitCode, refuse
from llm_fleet.cli.write_files import reason_of, write_file
from llm_fleet.fleet_file.load import load_fleet
from llm_fleet.rules.feature_codes import ProveCode
from llm_fleet.rules.values import nearest

_PREFIX = "llm-fleet-"
_RANDOM_BYTES = 4


def list_claims(fleet_file: Path, *, only: Sequence[str], as_json: bool) -> int:
    """Print the assumptions that the fleet depends on, with their experiments. Calls no AWS."""
    load_fleet(fleet_file)
    with TemporaryDirectory(prefix="llm-fleet-prove-") as folder:
        claims = _chosen(_stacks(fleet_file, Path(folder)), only)
    print_claims(claims, as_json=as_json)
    return ExitCode.FINE


def run_experiments(fleet_file: Path, *, only: Sequence[str], yes: bool, as_json: bool, show_account: bool) -> int:
    """Run the experiments of tier 0, remove what they create, and write report.json and report.html.

    Returns 1 if an answer of AWS disproves a claim or something could not be removed, 3 if the credentials end
    the run. Raises `FleetError` with the errors of the fleet file, LF1260 and LF1261.
    """
    fleet = load_fleet(fleet_file)
    clients = AwsClients(region=fleet.region)
    values = _values(clients)
    account = values["account"]
    with TemporaryDirectory(prefix="llm-fleet-prove-") as folder:
        stacks = _stacks(fleet_file, Path(folder), account=account)
        claims = _chosen(stacks, only)
        chosen = _experiments(claims, () if only else stacks, clients)
    if not as_json:
        announce(claims, chosen, region=fleet.region, account=account)
    _confirm(yes)
    run = _PREFIX + secrets.token_hex(_RANDOM_BYTES)
    place = _place(fleet_file) / run
    started, began = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    experimenter = Experimenter(region=fleet.region, run=run, values=values, journal=_journal(place))
    try:
        verdicts = _run(experimenter, chosen)
        left = experimenter.clean()
    except KeyboardInterrupt:  # The first one ends the experiment, and this one its cleaning.
        print("not everything is removed: run `llm-fleet prove --clean`", file=sys.stderr)
        raise
    about = Run(
        fleet=fleet.name,
        region=fleet.region,
        account=account,
        run=run,
        started=started,
        seconds=round(time.monotonic() - began, 1),
        versions={"llm_fleet": version("llm-fleet"), "boto3": version("boto3")},
    )
    report = report_of(about, claims, verdicts, left, show_account=show_account)
    print_result(report, _written(place, report), as_json=as_json)
    if any(one.interrupted for one in verdicts.values()):
        return ExitCode.INTERRUPTED
    if any(row["outcome"] == Outcome.DISPROVEN for row in [*report["claims"], *report["stacks"]]) or report["left"]:
        return ExitCode.PROBLEMS
    return ExitCode.NOT_CHECKED if any(one.ends_the_run for one in verdicts.values()) else ExitCode.FINE


def clean(fleet_file: Path) -> int:
    """Remove what interrupted runs of this fleet file left. Returns 1 if something could not be removed.

    Raises `FleetError` (LF1263) for runs in another account than that of the credentials; they are not changed.
    """
    fleet = load_fleet(fleet_file)
    account = _values(AwsClients(region=fleet.region))["account"]
    problems = 0
    for journal in interrupted_runs(_place(fleet_file)):
        others = {removal.account for removal in journal.pending} - {account}
        if others:
            refuse(
                ProveCode.OTHER_ACCOUNT,
                f"{journal.folder.name} ran in account {', '.join(sorted(others))}, and these credentials are of "
                f"account {account}",
                "use credentials of that account",
                subject=str(journal.folder),
            )
        experimenter = Experimenter(region=fleet.region, run="", values={}, journal=journal)
        number = len(journal.pending)
        left = experimenter.clean()
        problems += len(left)
        print(f"{journal.folder.name}: {counted(number - len(left), 'resource')} removed")
        for one in left:
            print(plain_line(f"  {one.removal.call} failed: {one.why}"), file=sys.stderr)
    if not problems:
        print("nothing is left of earlier runs")
    return ExitCode.PROBLEMS if problems else ExitCode.FINE


def _journal(place: Path) -> UndoJournal:
    """Return the journal of a new run. Raises `FleetError` (LF1264) if its folder cannot be written."""
    try:
        return UndoJournal(place)
    except OSError as error:
        refuse(
            ProveCode.NO_JOURNAL,
            f"cannot write what must be removed after the run: {reason_of(error)}",
            "make the folder writable, or copy the fleet file to another one",
            subject=str(place),
        )


def _stacks(fleet_file: Path, folder: Path, *, account: str | None = None) -> tuple[StackTemplate, ...]:
    assembly = folder / "cdk.out"
    synthesize(fleet_file, assembly, account=account)
    return synthesized_stacks(assembly)


def _chosen(stacks: Sequence[StackTemplate], only: Sequence[str]) -> tuple[Assumption, ...]:
    """Return the claims that a fleet with `stacks` depends on, with the ids `only` if there are any.

    Raises `FleetError` (LF1260).
    """
    resources = [resource for stack in stacks for resource in stack.resources.values()]
    claims = [one for one in assumptions() if one.is_needed_by(resources)]
    known = [one.id for one in claims]
    for name in only:
        if name not in known:
            near = nearest(name, known)
            refuse(
                ProveCode.UNKNOWN_CLAIM,
                f"this fleet does not depend on an assumption `{name}`",
                f"write `{near}`" if near else "choose an id that `llm-fleet prove --list` prints",
                value=name,
                subject="--only",
            )
    return tuple(one for one in claims if not only or one.id in only)


def _experiments(
    claims: Sequence[Assumption], stacks: Sequence[StackTemplate], clients: AwsClients
) -> Mapping[str, Sequence[Call]]:
    """Return the experiments with `claims` and `stacks`. Raises `AwsRefusal` if the deployed stacks are unknown."""
    made = experiments()
    deployed = DeployedStacks(clients, [stack.name for stack in stacks])
    if deployed.refused is not None:
        raise AwsRefusal([deployed.refused], subject="the deployed stacks")
    return {
        **{one.id: made[one.id] for one in claims if one.id in made},
        **dict(_stack_experiments(stacks, deployed.found)),
    }


def _stack_experiments(
    stacks: Iterable[StackTemplate], deployed: Collection[str]
) -> Iterator[tuple[str, tuple[Call, ...]]]:
    """Yield a name and the calls for each stack.

    A change set for a stack of its own name is created, read and deleted; it is never executed. Two kinds of stacks are
    only validated: those in `deployed`, because CloudFormation rejects a change set with names in use, and those
    that import values, because it requires the exports when it creates the change set. The template is in a bucket: a
    request has at most 51,200 bytes of template.
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html (2026-11)
    """
    for number, stack in enumerate(stacks):
        if stack.file is not None:
            plan = not stack.imports and stack.name not in deployed
            yield f"stack {stack.name}", tuple(_calls(stack.file, f"<run>-{number}", plan=plan))


def _calls(file: Path, own_name: str, *, plan: bool) -> Iterator[Call]:
    # One bucket for each stack: S3 may reject the name of a bucket that was just deleted.
    bucket = {"Bucket": f"{own_name}-<account>"}
    text = file.read_text(encoding="utf-8")
    key = {**bucket, "Key": file.name}
    address = {"TemplateURL": f"https://{own_name}-<account>.s3.<region>.<dns_suffix>/{file.name}"}
    yield Call(
        call="s3:CreateBucket", arguments=bucket, setup=True, undo=Request(call="s3:DeleteBucket", arguments=bucket)
    )
    yield Call(
        call="s3:PutObject",
        arguments={**key, "Body": text},
        setup=True,
        undo=Request(call="s3:DeleteObject", arguments=key),
    )
    yield Call(call="cloudformation:ValidateTemplate", arguments=address)
    if plan:
        bootstrap = json.loads(text).get("Parameters", {}).get("BootstrapVersion")
        if bootstrap is not None:
            # In an account without `cdk bootstrap` CloudFormation cannot create the change set of any CDK app.
            yield Call(call="ssm:GetParameter", arguments={"Name": bootstrap["Default"]}, setup=True)
        yield from _planned(own_name, address)


def _planned(own_name: str, address: Mapping[str, str]) -> Iterator[Call]:
    stack = {"StackName": own_name}
    change_set = {**stack, "ChangeSetName": own_name}
    yield Call(
        call="cloudformation:CreateChangeSet",
        arguments={
            **change_set,
            **address,
            "ChangeSetType": "CREATE",
            "Capabilities": ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"],
        },
        wait=Request(call="cloudformation:change_set_create_complete", arguments=change_set),
        undo=Request(call="cloudformation:DeleteStack", arguments=stack),
        undo_wait=Request(call="cloudformation:stack_delete_complete", arguments=stack),
    )
    yield Call(call="cloudformation:DescribeChangeSet", arguments=change_set, answer="length(Changes)")


def _confirm(yes: bool) -> None:
    """Ask for a yes. Raises `FleetError` (LF1261)."""
    if yes:
        return
    print("Start? Type yes: ", end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline().strip()
    if answer != "yes":
        refuse(
            ProveCode.NOT_CONFIRMED,
            "the run was not confirmed, and nothing was called",
            "type `yes`, or add --yes",
            value=answer,
            subject="prove",
        )


def _run(experimenter: Experimenter, chosen: Mapping[str, Sequence[Call]]) -> dict[str, Verdict]:
    """Run the experiments; after one that ends the run, the others are not tested, for its reason."""
    verdicts: dict[str, Verdict] = {}
    names = iter(chosen)
    with progress("testing", total=len(chosen)) as step:
        for name in names:
            verdicts[name] = experimenter.prove(name, chosen[name])
            step()
            if verdicts[name].ends_the_run:
                break
    for name in names:
        reason = f"not run: {next(reversed(verdicts.values())).reason}"
        verdicts |= {
            each: Verdict(name=each, outcome=Outcome.NOT_TESTED, reason=reason) for each in chain([name], names)
        }
    return verdicts


def _written(place: Path, report: Mapping[str, object]) -> tuple[Path, ...]:
    files = {
        place / "report.json": json.dumps(report, indent=1, ensure_ascii=False) + "\n",
        place / "report.html": page(report),
    }
    for path, text in files.items():
        write_file(path, text, force=True)
    return tuple(files)


def _place(fleet_file: Path) -> Path:
    return fleet_file.resolve().parent / ".llm-fleet" / "prove"


def _values(clients: AwsClients) -> dict[str, str]:
    """Return the caller's account, and the partition of the Region and its DNS suffix."""
    from botocore.session import Session

    with aws_errors_reported("sts:GetCallerIdentity"):
        account = clients.sts.get_caller_identity()["Account"]
    partition = Session().get_partition_for_region(clients.region)
    return {"account": account, "partition": partition, "dns_suffix": _DNS_SUFFIXES.get(partition, "amazonaws.com")}


_DNS_SUFFIXES = {"aws-cn": "amazonaws.com.cn"}
"""Of partitions with another suffix than `amazonaws.com`."""
