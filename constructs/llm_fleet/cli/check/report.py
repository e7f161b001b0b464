"""Tells what came of a preflight: a table, each finding with its remedy, and what could not be asked."""

from collections.abc import Sequence
from typing import Any

from llm_fleet.cli.check.question import Outcome, Verdict
from llm_fleet.cli.failures import ExitCode
from llm_fleet.cli.terminal.screen import Screen, Tone, Toned, painted, plain_text, told_problem
from llm_fleet.cli.terminal.table import Column, Table

_TONES = {Verdict.GOOD: Tone.GOOD, Verdict.PROBLEM: Tone.BAD, Verdict.NOT_ASKED: Tone.WARNING}
_COLUMNS = (
    Column(key="what", title="CHECKED"),
    Column(key="verdict", title="VERDICT"),
    Column(key="detail", title="DETAIL", wraps=True),
)


def exit_code(outcomes: Sequence[Outcome]) -> ExitCode:
    """Return 1 when something is wrong, else 3 when something could not be asked, else 0."""
    verdicts = {outcome.verdict for outcome in outcomes}
    if Verdict.PROBLEM in verdicts:
        return ExitCode.PROBLEMS
    return ExitCode.NOT_ASKED if Verdict.NOT_ASKED in verdicts else ExitCode.FINE


def as_text(outcomes: Sequence[Outcome], screen: Screen, *, where: str) -> str:
    """Return the whole answer for people."""
    rows = [
        {
            "what": outcome.question.what,
            "verdict": Toned(outcome.verdict.value, _TONES[outcome.verdict]),
            "detail": outcome.detail,
        }
        for outcome in outcomes
    ]
    parts = [
        Table(columns=_COLUMNS, rows=rows).text(screen),
        *_findings(outcomes, screen),
        _not_asked(outcomes, screen),
    ]
    return "\n".join(part for part in (*parts, _summary(outcomes, where)) if part)


def as_data(outcomes: Sequence[Outcome], *, fleet: str, region: str, account: str) -> dict[str, Any]:
    """Return the whole answer for programs."""
    return {
        "fleet": fleet,
        "region": region,
        "account": account,
        "exit_code": int(exit_code(outcomes)),
        "checks": [
            {
                "topic": outcome.question.topic.value,
                "what": outcome.question.what,
                "verdict": outcome.verdict.value,
                "detail": outcome.detail,
                **({"action": outcome.action} if outcome.action else {}),
                "problems": [told_problem(problem) for problem in outcome.problems],
            }
            for outcome in outcomes
        ],
    }


def _findings(outcomes: Sequence[Outcome], screen: Screen) -> list[str]:
    """Return each problem once: one missing rule may be behind several lines of the table."""
    problems = [problem for outcome in outcomes if outcome.verdict is Verdict.PROBLEM for problem in outcome.problems]
    unique = list({(problem.code, problem.message): problem for problem in problems}.values())
    return [_told(str(problem), screen) for problem in unique]


def _told(text: str, screen: Screen) -> str:
    head, *rest = text.split("\n")
    lines = [painted(plain_text(head), Tone.STRONG, colour=screen.colour), *map(plain_text, rest)]
    return "".join(f"{line}\n" for line in lines)


def _not_asked(outcomes: Sequence[Outcome], screen: Screen) -> str:
    """Return what could not be asked, each action once, with what to do."""
    refused = {one.action: one.problems[0] for one in outcomes if one.verdict is Verdict.NOT_ASKED and one.problems}
    lines = [painted("not asked", Tone.STRONG, colour=screen.colour)] if refused else []
    for action, problem in refused.items():
        remedy = problem.remedy.replace("the call", action, 1)
        lines.append(f"  {action}  [{problem.code.value}]")
        lines.append(f"    {plain_text(problem.message)}")
        lines.append(f"    remedy:  {plain_text(remedy)}")
    return "".join(f"{line}\n" for line in lines)


def _summary(outcomes: Sequence[Outcome], where: str) -> str:
    count = {verdict: sum(outcome.verdict is verdict for outcome in outcomes) for verdict in Verdict}
    words = {Verdict.PROBLEM: "with a problem"}
    told = ", ".join(f"{number} {words.get(verdict, verdict.value)}" for verdict, number in count.items() if number)
    return f"{where}: {len(outcomes)} checked{f'; {told}' if told else ''}\n"
