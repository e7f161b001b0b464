"""One look at one job: asks what is so, and does the next thing that is left to do.

Every step is written down before or after it so that a run that dies between any two of them is taken up by the next
look, whoever asks for it: a redelivered message, a doubled event or the sweep. Nothing here depends on which it was.
"""

import logging

from .checkpoints import choose, stored_files
from .decide import GIVE_UP, LEAVE, RESTART, Decision, Divergence, decide, judge
from .failures import COMPLETED, UNKNOWN
from .job_alarms import unmeasured
from .job_facts import JobFacts, read_job
from .layouts import Layout
from .parts import Parts
from .record import Entry
from .settings import JobSettings
from .start_successor import start_successor

_LOG = logging.getLogger(__name__)


def look_at_job(parts: Parts, name: str, *, again: bool = True) -> None:
    """Do what is next for a job; `again`: ask for a later look where something is to be waited for."""
    entry = parts.record.read(name)
    if entry is not None and not entry.open:
        return
    facts = read_job(parts.clients.sagemaker, name) if parts.surroundings.may_watch(name) else None
    if facts is None or not parts.surroundings.watches(name, facts.tags):
        _LOG.info("%s is no job of this watch", name)
        if entry is not None:
            _let_go(parts, name, entry)
        return
    if entry is None:
        parts.record.begin(name, {"root": facts.root, "attempt": facts.attempt})
        entry = _entry(parts, name)
    settings = parts.surroundings.settings.of(facts.root)
    if facts.ended:
        _look_at_ended(parts, facts, entry, settings, again=again)
    elif facts.status == "InProgress":
        _look_at_running(parts, facts, entry, settings, again=again)


def _let_go(parts: Parts, name: str, entry: Entry) -> None:
    """Finish with a job that was the watch's: deleted, given to another watch, or of a stack that is gone."""
    why = "it is deleted, or not this watch's any more"
    if entry.decision is None:
        parts.record.decide(name, Decision(decision=LEAVE, cause=UNKNOWN, reason=why), parts.now())
    elif entry.decision == RESTART:
        parts.record.give_up(name, why)
    entry = _entry(parts, name)
    _tell_decision(parts, name, entry)
    parts.alarms.delete(name)
    parts.record.close(name)


def _look_at_running(parts: Parts, facts: JobFacts, entry: Entry, settings: JobSettings, *, again: bool) -> None:
    if entry.divergence:
        _stop(parts, facts, entry, entry.divergence)
        return
    if facts.secondary != "Training":
        return
    if entry.text("alarms") is None:
        _make_alarms(parts, facts, entry, settings)
    sickness = judge(facts, parts.alarms.firing(facts.name), settings, now=parts.now())
    if sickness.stop:
        parts.record.diverged(facts.name, sickness.stop)
        entry = _entry(parts, facts.name)
        if entry.divergence:
            _stop(parts, facts, entry, entry.divergence)
    elif sickness.notice:
        _notice(parts, facts.name, entry, sickness.notice)
    elif sickness.until and again:
        parts.later.look(facts.name, seconds=sickness.until - parts.now())


def _make_alarms(parts: Parts, facts: JobFacts, entry: Entry, settings: JobSettings) -> None:
    parts.alarms.put(facts.name, facts.metrics, settings)
    missing = unmeasured(facts.metrics, settings)
    if missing:
        _notice(parts, facts.name, entry, f"no alarm: the job defines no metric {', '.join(missing)}")
    parts.record.note(facts.name, "alarms", "made")


def _stop(parts: Parts, facts: JobFacts, entry: Entry, divergence: Divergence) -> None:
    # SIGTERM, then two minutes for the program to save: docs.aws.amazon.com/sagemaker/latest/APIReference/
    # API_StopTrainingJob.html. What it saves then is newer than the onset, and never what is gone on from.
    parts.clients.sagemaker.stop_training_job(TrainingJobName=facts.name)
    _tell_stop(parts, facts, entry, divergence)


def _tell_stop(parts: Parts, facts: JobFacts, entry: Entry, divergence: Divergence) -> None:
    if entry.text("told_stop") is None:
        reason = f"{divergence.kind}: it is stopped, to go on from the checkpoint before"
        parts.teller.tell(about=facts.name, what="stop", words={"why": reason, "root": facts.root})
        parts.record.note(facts.name, "told_stop", "stop")


def _notice(parts: Parts, job: str, entry: Entry, words: str) -> None:
    if entry.text("noticed") != words:
        parts.teller.tell(about=job, what="notice", words={"why": words})
        parts.record.note(job, "noticed", words)


def _look_at_ended(parts: Parts, facts: JobFacts, entry: Entry, settings: JobSettings, *, again: bool) -> None:
    if entry.divergence:
        _tell_stop(parts, facts, entry, entry.divergence)
    if entry.decision is None:
        _decide(parts, facts, entry.divergence, settings)
        entry = _entry(parts, facts.name)
    _tell_decision(parts, facts.name, entry)
    parts.alarms.delete(facts.name)
    if entry.decision == RESTART and entry.text("created") is None:
        if not start_successor(parts, facts, entry, settings, again=again):
            return
        entry = _entry(parts, facts.name)
        _tell_decision(parts, facts.name, entry)
    parts.record.close(facts.name)


def _decide(parts: Parts, facts: JobFacts, divergence: Divergence | None, settings: JobSettings) -> None:
    before = None
    if divergence and facts.status != "Completed" and facts.checkpoint_uri:
        files = stored_files(parts.clients.s3, facts.checkpoint_uri)
        before = choose(files, Layout.of(settings.layout), before=divergence.onset)
    decision = decide(facts, divergence, before, settings, now=parts.now())
    parts.record.decide(facts.name, decision, parts.now())


def _tell_decision(parts: Parts, job: str, entry: Entry) -> None:
    if entry.decision is None or entry.text("told") == entry.decision:
        return
    words = {"why": entry.text("reason"), "cause": entry.text("cause"), "root": entry.text("root")}
    if entry.decision != GIVE_UP:
        words |= {"goes on as": entry.text("successor")}
    what = COMPLETED if entry.text("cause") == COMPLETED else entry.decision
    parts.teller.tell(about=job, what=what, words=words)
    parts.record.note(job, "told", entry.decision)


def _entry(parts: Parts, job: str) -> Entry:
    return parts.record.read(job) or Entry(values={})
