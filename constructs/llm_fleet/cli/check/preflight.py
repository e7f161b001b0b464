"""Makes all checks of a fleet file in parallel, and shows their results."""

from collections.abc import Callable, Collection, Iterator, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from llm_fleet.cli.check import capacity, network, quotas, storage
from llm_fleet.cli.check.images_and_models import image_questions, model_questions
from llm_fleet.cli.check.question import Account, Outcome, Question, Topic, Verdict
from llm_fleet.cli.clients import AwsRefusal
from llm_fleet.cli.screen import Screen, Step, Tone, Toned, painted, plain_text
from llm_fleet.cli.table import Column, Table
from llm_fleet.cli.verb import ExitCode
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.rules.feature_codes import CommandCode

T = TypeVar("T")


def at_once(works: Sequence[Callable[[], T]], *, threads: int) -> Iterator[tuple[int, T]]:
    """Yield the index and the result of each of `works` when it is done; re-raise its exception.

    The threads are daemons, so that Ctrl-C does not wait for a call that is in progress.
    """
    todo: SimpleQueue[int | None] = SimpleQueue()
    done: SimpleQueue[tuple[int, T | BaseException, bool]] = SimpleQueue()
    for place in range(len(works)):
        todo.put(place)

    def work() -> None:
        while (place := todo.get()) is not None:
            try:
                done.put((place, works[place](), True))
            except BaseException as error:  # It is raised in the thread that reads the queue.
                done.put((place, error, False))

    count = min(threads, len(works))
    for _ in range(count):
        todo.put(None)
        Thread(target=work, daemon=True).start()
    for _ in works:
        place, result, good = _next(done)
        if not good:
            raise result  # type: ignore[misc]
        yield place, result  # type: ignore[misc]


def _next(done: "SimpleQueue[tuple[int, T | BaseException, bool]]") -> tuple[int, T | BaseException, bool]:
    """Wait so that Ctrl-C works: on Windows it does not interrupt a wait without a timeout."""
    from queue import Empty

    while True:
        try:
            return done.get(timeout=0.5)
        except Empty:
            continue


_THREADS = 4
"""Services allow few calls per second; boto3 waits when they throttle. Our choice."""
_ABOUT_ALL = (
    CommandCode.NO_BOTO3,
    CommandCode.NO_CREDENTIALS,
    CommandCode.EXPIRED,
    CommandCode.INVALID_CREDENTIALS,
    CommandCode.REGION,
)
"""Errors that every other call would have, too, so they are reported once."""


def questions_of(fleet: Fleet, *, topics: Collection[Topic], ask_hub: bool) -> list[Question]:
    """Return the checks in the order of the table. `ask_hub`: whether to query the Hugging Face Hub, too."""
    found = (
        *quotas.questions(fleet),
        *capacity.offering_questions(fleet),
        *capacity.capacity_questions(fleet),
        *network.questions(fleet),
        *storage.questions(fleet),
        *image_questions(fleet),
        *model_questions(fleet, ask_hub=ask_hub),
    )
    return [question for question in found if question.topic in topics]


def ask_all(account: Account, questions: Sequence[Question], step: Step) -> list[Outcome]:
    """Make the checks, several at a time, and return the outcomes in the order of the questions.

    Raises `AwsRefusal` for a refusal that applies to all calls, e.g. expired credentials.
    """
    step(total=len(questions) + 1)
    _ = account.identity  # Errors that apply to all calls, such as missing credentials, are reported once.
    step()
    outcomes: dict[int, Outcome] = {}
    for place, outcome in at_once([_asking(account, question) for question in questions], threads=_THREADS):
        outcomes[place] = outcome
        step()
    return [outcomes[place] for place in range(len(questions))]


def _asking(account: Account, question: Question) -> Callable[[], Outcome]:
    def ask() -> Outcome:
        try:
            answer = question.answer(account)
        except AwsRefusal as refusal:
            if refusal.code in _ABOUT_ALL:
                raise
            return _not_checked(question, refusal)
        verdict = Verdict.GOOD if answer.checked else Verdict.NOT_CHECKED
        verdict = Verdict.PROBLEM if answer.problems else verdict
        return Outcome(question=question, verdict=verdict, detail=answer.detail, problems=answer.problems)

    return ask


def _not_checked(question: Question, refusal: AwsRefusal) -> Outcome:
    words = {
        CommandCode.DENIED: "these credentials do not allow the call",
        CommandCode.THROTTLED: "AWS throttled the call",
        CommandCode.UNREACHABLE: "AWS does not respond",
    }
    action = refusal.subject
    why = next((text for code, text in words.items() if code is refusal.code), "AWS rejects the call")
    return Outcome(
        question=question,
        verdict=Verdict.NOT_CHECKED,
        detail=f"{action}: {why}",
        problems=refusal.problems,
        action=action,
    )


_TONES = {Verdict.GOOD: Tone.GOOD, Verdict.PROBLEM: Tone.BAD, Verdict.NOT_CHECKED: Tone.WARNING}
_COLUMNS = (
    Column(key="what", title="CHECK"),
    Column(key="verdict", title="RESULT"),
    Column(key="detail", title="DETAIL", wraps=True),
)


def exit_code(outcomes: Sequence[Outcome]) -> ExitCode:
    """Return 1 if there is a problem, else 3 if a call of a check failed, else 0.

    A value that AWS does not return is not a failed call: no other credentials or later run would change it.
    """
    verdicts = {outcome.verdict for outcome in outcomes}
    if Verdict.PROBLEM in verdicts:
        return ExitCode.PROBLEMS
    failed = any(outcome.verdict is Verdict.NOT_CHECKED and outcome.problems for outcome in outcomes)
    return ExitCode.NOT_CHECKED if failed else ExitCode.FINE


def as_text(outcomes: Sequence[Outcome], screen: Screen, *, where: str) -> str:
    """Return the results as text."""
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
        _refused_calls(outcomes, screen),
    ]
    return "\n".join(part for part in (*parts, _summary(outcomes, where)) if part)


def as_data(outcomes: Sequence[Outcome], *, fleet: str, region: str, account: str) -> dict[str, Any]:
    """Return the results for `--json`."""
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
                "problems": outcome.problems,
            }
            for outcome in outcomes
        ],
    }


def _findings(outcomes: Sequence[Outcome], screen: Screen) -> list[str]:
    """Return each problem once: a missing ingress rule can cause several rows of the table."""
    problems = [problem for outcome in outcomes if outcome.verdict is Verdict.PROBLEM for problem in outcome.problems]
    unique = list({(problem.code, problem.message): problem for problem in problems}.values())
    return [_finding(str(problem), screen) for problem in unique]


def _finding(text: str, screen: Screen) -> str:
    head, *rest = text.split("\n")
    lines = [painted(plain_text(head), Tone.STRONG, color=screen.color), *map(plain_text, rest)]
    return "".join(f"{line}\n" for line in lines)


def _refused_calls(outcomes: Sequence[Outcome], screen: Screen) -> str:
    """Return the calls that AWS refused, each action once, with the remedy."""
    refused = {one.action: one.problems[0] for one in outcomes if one.verdict is Verdict.NOT_CHECKED and one.problems}
    lines = [painted("not checked", Tone.STRONG, color=screen.color)] if refused else []
    for action, problem in refused.items():
        remedy = problem.remedy.replace("the call", action, 1)
        lines.append(f"  {action}  [{problem.code.value}]")
        lines.append(f"    {plain_text(problem.message)}")
        lines.append(f"    remedy:  {plain_text(remedy)}")
    return "".join(f"{line}\n" for line in lines)


def _summary(outcomes: Sequence[Outcome], where: str) -> str:
    count = {verdict: sum(outcome.verdict is verdict for outcome in outcomes) for verdict in Verdict}
    words = {Verdict.PROBLEM: "with a problem"}
    reported = ", ".join(f"{number} {words.get(verdict, verdict.value)}" for verdict, number in count.items() if number)
    return f"{where}: {len(outcomes)} checks{f': {reported}' if reported else ''}\n"
