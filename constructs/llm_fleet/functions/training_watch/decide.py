"""What is done with a job: facts in, decision out. Asks nobody, changes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from .checkpoints import Checkpoint
from .failures import CAPACITY, COMPLETED, PERSON, RUNTIME, SERVICE, USER, cause_of
from .job_facts import JobFacts
from .settings import JobSettings
from .successor_name import successor_name

RESTART, LEAVE, GIVE_UP = "restart", "leave", "give_up"
NAN = "nan"
_WORDS = {
    COMPLETED: "it completed",
    USER: "its own program or request failed, and would again",
    PERSON: "it was stopped by somebody",
    RUNTIME: "it reached its longest run time",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """What was recorded before a sick job was stopped."""

    kind: str
    """loss-spike, stall, nan or throughput."""
    onset: float
    """Since when it may be sick, in seconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What is done with a job that has ended."""

    decision: str
    """restart, leave or give_up."""
    cause: str
    reason: str
    """In words."""
    successor: str | None = None
    due: int | None = None
    """When the successor may start, in seconds since 1970."""
    checkpoint: str | None = None
    """Folder of the checkpoint that the successor is given; empty: all of the prefix; none: it keeps the prefix."""


def decide(
    facts: JobFacts, divergence: Divergence | None, before: Checkpoint | None, settings: JobSettings, *, now: float
) -> Decision:
    """Decide on a job that has ended; `before`: the newest checkpoint that was whole before it diverged."""
    cause = cause_of(status=facts.status, secondary=facts.secondary, failure=facts.failure)
    if cause == COMPLETED or divergence is None:
        return _plain(facts, cause, settings, now)
    since = datetime.fromtimestamp(divergence.onset, UTC).isoformat(timespec="seconds")
    words = f"stopped for {divergence.kind} since {since}"
    if before is None:
        return Decision(decision=GIVE_UP, cause=divergence.kind, reason=f"{words}: no checkpoint was whole before that")
    place = before.folder or "its checkpoints of that time"
    return _again(facts, divergence.kind, f"{words}; goes on from {place}", settings, now, before.folder)


def _plain(facts: JobFacts, cause: str, settings: JobSettings, now: float) -> Decision:
    retried = {SERVICE, CAPACITY} | ({RUNTIME} if settings.restart_at_max_runtime else set[str]())
    told = facts.failure or facts.secondary
    if cause in retried:
        return _again(facts, cause, f"ended for reasons of {cause}: {told}", settings, now, None)
    words = _WORDS.get(cause, "why it ended is not known to be the service's fault")
    return Decision(decision=LEAVE, cause=cause, reason=words if cause == COMPLETED else f"{words}: {told}")


def _again(
    facts: JobFacts, cause: str, words: str, settings: JobSettings, now: float, checkpoint: str | None
) -> Decision:
    restart = facts.attempt + 1
    if restart > settings.max_restarts:
        reason = f"{words}; {facts.attempt} of at most {settings.max_restarts} restarts are used up"
        return Decision(decision=GIVE_UP, cause=cause, reason=reason)
    return Decision(
        decision=RESTART,
        cause=cause,
        reason=f"{words}; restart {restart} of at most {settings.max_restarts}",
        successor=successor_name(facts.root, restart),
        due=int(now) + settings.backoff(restart),
        checkpoint=checkpoint,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sickness:
    """What alarms say of a running job, weighed."""

    stop: Divergence | None = None
    """Stop it for this."""
    notice: str | None = None
    """Tell this, and leave it running."""
    until: float | None = None
    """Look again then: it is too early to believe the alarm."""


def judge(facts: JobFacts, firing: Mapping[str, float], settings: JobSettings, *, now: float) -> Sickness:
    """Weigh the alarms that are on: kind to the onset that each tells, in seconds since 1970.

    NaN is believed at once; the others not before the job has trained for a while, as a loss falls steeply at first.
    """
    since = facts.training_since
    if not firing or since is None:
        return Sickness()
    kind, onset = min(firing.items(), key=lambda item: (item[0] != NAN, item[1], item[0]))
    believed = since + (0 if kind == NAN else settings.grace_seconds)
    if now < believed:
        return Sickness(until=believed)
    if facts.checkpoint_uri is None or settings.max_restarts == 0:
        why = "it keeps no checkpoints" if settings.max_restarts else "the watch only tells"
        return Sickness(notice=f"{kind}: left running, as {why}")
    return Sickness(stop=Divergence(kind=kind, onset=onset - settings.onset_margin_seconds))
