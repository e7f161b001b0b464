"""Asks all questions of a check at once."""

from collections.abc import Callable, Collection, Iterator, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar

from llm_fleet.cli.aws.clients import AwsRefusal
from llm_fleet.cli.check import Topic, capacity, images, models, network, quotas, storage
from llm_fleet.cli.check.question import Account, Outcome, Question, Verdict
from llm_fleet.cli.terminal.screen import Step
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.rules.command_codes import CommandCode

T = TypeVar("T")


def at_once(works: Sequence[Callable[[], T]], *, threads: int) -> Iterator[tuple[int, T]]:
    """Yield the place and the result of each of `works` as it is done, and raise what one raises.

    The threads are daemons: who stops listening, as Ctrl-C does, does not wait for a call that is under way.
    """
    todo: SimpleQueue[int | None] = SimpleQueue()
    done: SimpleQueue[tuple[int, T | BaseException, bool]] = SimpleQueue()
    for place in range(len(works)):
        todo.put(place)

    def work() -> None:
        while (place := todo.get()) is not None:
            try:
                done.put((place, works[place](), True))
            except BaseException as error:  # It is raised where somebody listens.
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
    """Wait so that Ctrl-C is heard: on Windows a wait without an end does not hear it."""
    from queue import Empty

    while True:
        try:
            return done.get(timeout=0.5)
        except Empty:
            continue


_THREADS = 4
"""Services allow few calls a second; boto3 waits where they say so. Our choice."""
_ABOUT_ALL = (
    CommandCode.NO_BOTO3,
    CommandCode.NO_CREDENTIALS,
    CommandCode.EXPIRED,
    CommandCode.INVALID_CREDENTIALS,
    CommandCode.REGION,
)
"""What would be said of every further call too, and is told once."""


def questions_of(fleet: Fleet, *, region: str, topics: Collection[Topic], ask_hub: bool) -> list[Question]:
    """Return what is to be asked, in the order of the table. `ask_hub`: whether the Hugging Face Hub is asked too."""
    found = (
        *quotas.questions(fleet, region=region),
        *capacity.offering_questions(fleet, region=region),
        *capacity.capacity_questions(fleet, region=region),
        *network.questions(fleet, region=region),
        *storage.questions(fleet, region=region),
        *images.questions(fleet, region=region),
        *models.questions(fleet, region=region, ask_hub=ask_hub),
    )
    return [question for question in found if question.topic in topics]


def ask_all(account: Account, questions: Sequence[Question], step: Step) -> list[Outcome]:
    """Ask, several at a time, and return the outcomes in the order of the questions.

    Raises `AwsRefusal` for what is so of all calls, e.g. expired credentials.
    """
    step(total=len(questions) + 1)
    _ = account.identity  # No credentials, and the like: told once, before anything else.
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
            return _not_asked(question, refusal)
        verdict = Verdict.PROBLEM if answer.problems else Verdict.GOOD
        return Outcome(question=question, verdict=verdict, detail=answer.detail, problems=answer.problems)

    return ask


def _not_asked(question: Question, refusal: AwsRefusal) -> Outcome:
    words = {
        CommandCode.DENIED: "these credentials may not make the call",
        CommandCode.THROTTLED: "AWS turned the call away as one too many",
        CommandCode.UNREACHABLE: "AWS does not answer",
    }
    action = refusal.subject
    why = next((text for code, text in words.items() if code is refusal.code), "AWS refuses the call")
    return Outcome(
        question=question,
        verdict=Verdict.NOT_ASKED,
        detail=f"{action}: {why}",
        problems=refusal.problems,
        action=action,
    )
