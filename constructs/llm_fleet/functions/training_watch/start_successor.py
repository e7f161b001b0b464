"""Starts the job that was decided on, when its time has come and its checkpoint is in its place."""

import logging

from botocore.exceptions import ClientError

from .copying import CheckpointCopy, CheckpointGone
from .job_facts import JobFacts
from .layouts import Layout
from .parts import Parts
from .record import Entry
from .restart import MORE_LATER, NameTaken, create, restart_request
from .settings import JobSettings
from .successor_name import base_of

_LOG = logging.getLogger(__name__)
MOST_TRIES = 48
"""Times that CreateTrainingJob may be refused for quota, the longest back-off apart, before the restart is given up."""
_FINAL = ("ValidationException", "ValidationError", "ResourceNotFound", "NoSuchBucket", "NoSuchKey", "404")
"""What no later try changes: the request, or a thing that it needs and is gone."""
_DENIED = ("AccessDeniedException", "AccessDenied", "403")
_MOST_DENIED = 5
"""Times that a permission may be missing: a new one takes a while until it is known everywhere."""


def start_successor(parts: Parts, facts: JobFacts, entry: Entry, settings: JobSettings, *, again: bool) -> bool:
    """Take the restart further; returns whether it is over: made, or given up.

    Where it is to be waited for, a later look is asked for if `again`. Raises what AWS answers and may pass.
    """
    due, successor = entry.number("due"), entry.text("successor")
    if due is None or successor is None:
        return True
    if parts.now() < due:
        if again:
            parts.later.look(facts.name, seconds=due - parts.now())
        return False
    try:
        uri = _place_checkpoint(parts, facts, entry, settings, successor)
        if uri is _UNFINISHED:
            parts.later.look(facts.name)
            return False
        create(parts.clients.sagemaker, facts, restart_request(facts, successor, uri))
    except (NameTaken, CheckpointGone) as error:
        parts.record.give_up(facts.name, f"{entry.text('reason')}; {error}")
        return True
    except ClientError as error:
        return _refused(parts, facts, entry, settings, error, again=again)
    parts.record.created(facts.name, parts.now())
    return True


_UNFINISHED = ""


def _place_checkpoint(parts: Parts, facts: JobFacts, entry: Entry, settings: JobSettings, successor: str) -> str | None:
    """Return where the successor's checkpoints are, none: where its predecessor's are, empty: not all copied yet."""
    folder, divergence = entry.text("checkpoint"), entry.divergence
    if folder is None or divergence is None or facts.checkpoint_uri is None:
        return None
    # Below the first job's place and by the successor's name: whoever may use that may use this, and two lines of
    # jobs that share the place do not meet.
    target = f"{base_of(facts.checkpoint_uri, facts.root, facts.attempt)}/{successor}"
    copy = CheckpointCopy(
        parts.clients.s3,
        source=facts.checkpoint_uri,
        target=target,
        layout=Layout.of(settings.layout),
        threads=parts.copy_threads,
    )
    done = copy.run(folder, before=divergence.onset, in_time=parts.in_time)
    return target if done else _UNFINISHED


def _refused(
    parts: Parts, facts: JobFacts, entry: Entry, settings: JobSettings, error: ClientError, *, again: bool
) -> bool:
    code = error.response.get("Error", {}).get("Code", "")
    tries = int(entry.number("tries") or 0) + 1
    _LOG.warning("%s cannot go on yet: %s", facts.name, error)
    most = 0 if code in _FINAL else _MOST_DENIED if code in _DENIED else MOST_TRIES
    if code not in (*_FINAL, *_DENIED, *MORE_LATER):
        raise error
    if tries > most:
        parts.record.give_up(facts.name, f"{entry.text('reason')}; it cannot be started: {error}")
        return True
    wait = min(settings.backoff(min(tries, 16)), settings.backoff_most_seconds)
    parts.record.postpone(facts.name, until=parts.now() + wait, seen=entry.number("due") or 0, tries=tries)
    if again:
        parts.later.look(facts.name, seconds=wait)
    return False
