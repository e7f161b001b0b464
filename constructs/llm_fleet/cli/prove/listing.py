"""What `llm-fleet prove` prints: claims, the announcement of a run, its result, differences of reports."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from llm_fleet.catalog.assumptions import TIERS, Assumption
from llm_fleet.catalog.experiments import Call, experiments
from llm_fleet.cli.prove.experiment import Outcome
from llm_fleet.cli.prove.report import differences, read_report
from llm_fleet.cli.screen import Screen, Tone, Toned, counted, plain_line, print_json
from llm_fleet.cli.table import Column, Table
from llm_fleet.cli.verb import ExitCode

_CLAIMS = (
    Column(key="id", title="ASSUMPTION"),
    Column(key="tier", title="TIER", right=True),
    Column(key="how", title="TESTED BY"),
    Column(key="cost", title="COST"),
    Column(key="claim", title="CLAIM", wraps=True),
)
_RESULTS = (
    Column(key="id", title="ASSUMPTION"),
    Column(key="outcome", title="RESULT"),
    Column(key="reason", title="REASON", wraps=True),
)
_DIFFERENCES = (
    Column(key="name", title="ASSUMPTION"),
    Column(key="what", title="WHAT"),
    Column(key="before", title="FIRST"),
    Column(key="after", title="SECOND", wraps=True),
)
_WITH_LINKED_ROLES = ("application-autoscaling", "autoscaling", "ecs")
"""Services that create a service-linked role for their first resource.
Source: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/using-service-linked-roles.html (2026-11)"""
_TONES = {Outcome.PROVEN: Tone.GOOD, Outcome.DISPROVEN: Tone.BAD, Outcome.NOT_TESTED: Tone.DIM}


def print_claims(claims: Sequence[Assumption], *, as_json: bool) -> None:
    """Print the assumptions that a fleet depends on."""
    rows = [
        {
            "id": one.id,
            "tier": one.tier,
            "how": "this command" if one.id in experiments() else "hand",
            "cost": one.cost,
            "claim": one.claim,
        }
        for one in claims
    ]
    if as_json:
        print_json([{**row, "experiment": one.experiment} for row, one in zip(rows, claims, strict=True)])
        return
    print(Table(columns=_CLAIMS, rows=rows).text(Screen.of_output()), end="")
    print("\n".join(_tiers(claims)))


def _tiers(claims: Sequence[Assumption]) -> Iterator[str]:
    """Yield the number of claims in each tier, with what their experiments need."""
    for tier, needs in TIERS.items():
        number = sum(one.tier == tier for one in claims)
        ready = sum(one.tier == tier and one.id in experiments() for one in claims)
        by_hand = f"{ready} by this command, {number - ready} by hand" if ready else "by hand"
        yield f"tier {tier} ({needs}): {counted(number, 'assumption')}, {by_hand if number else 'none'}"


def announce(claims: Sequence[Assumption], chosen: Mapping[str, Sequence[Call]], *, region: str, account: str) -> None:
    """Print what a run will create and remove, before it starts."""
    calls = [call for each in chosen.values() for call in each]
    print(f"{counted(len(chosen), 'experiment')} in account {account}, with {counted(len(calls), 'call')}.")
    print("Cost: less than a cent, for requests to S3. AWS Config, if it is on, charges for each recorded resource.")
    made = Counter((call.region or region, what) for call in calls for what in _created(call))
    for place in dict.fromkeys([region, *(where for where, _ in made)]):
        here = ", ".join(f"{number} x {what}" for (where, what), number in sorted(made.items()) if where == place)
        print(f"Created and removed in {place}: {here or 'nothing'}")
    if any(call.call.partition(":")[0] in _WITH_LINKED_ROLES for call in calls):
        print("ECS and Auto Scaling create their service-linked roles if the account has none; those stay.")
    print("\n".join(_tiers(claims)))


def _created(call: Call) -> Iterator[str]:
    """Yield what a call creates if AWS accepts it: types of resources in a template, else the operation."""
    template = call.arguments.get("TemplateBody")
    if isinstance(template, Mapping):
        resources = cast("Mapping[str, Mapping[str, Any]]", template["Resources"])
        yield from (str(resource["Type"]) for resource in resources.values())
    elif call.undo is not None and _CREATES.search(call.call):
        yield call.call


_CREATES = re.compile(":(?:Create|Put|Register)")


def print_result(report: Mapping[str, Any], files: Sequence[Path], *, as_json: bool) -> None:
    """Print the outcome of each experiment that was run, and where the report is."""
    if as_json:
        print_json(report)
        return
    tested = [row for row in [*report["claims"], *report["stacks"]] if not row["reason"].startswith("by hand")]
    rows = [
        {"id": row["id"], "outcome": Toned(row["outcome"], _TONES[Outcome(row["outcome"])]), "reason": row["reason"]}
        for row in tested
    ]
    print(Table(columns=_RESULTS, rows=rows).text(Screen.of_output()), end="")
    counts = Counter(row["outcome"] for row in tested)
    by_hand = len(report["claims"]) + len(report["stacks"]) - len(tested)
    print(", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome) + f"; {by_hand} can only be tested by hand")
    for one in report["left"]:
        print(plain_line(f"left in the account: {one['call']} failed: {one['why']}; run `llm-fleet prove --clean`"))
    print("report: " + ", ".join(map(str, files)))


def print_differences(before: Path, after: Path, *, as_json: bool) -> int:
    """Print where two reports differ. Returns 1 if they do."""
    found = differences(read_report(before), read_report(after))
    rows = [{"name": one.name, "what": one.what, "before": one.before, "after": one.after} for one in found]
    if as_json:
        print_json(rows)
    else:
        print(Table(columns=_DIFFERENCES, rows=rows).text(Screen.of_output()) or "no differences\n", end="")
    return ExitCode.PROBLEMS if found else ExitCode.FINE
