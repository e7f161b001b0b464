"""What a user may write of a training job in short, written out: `image: pytorch`, `source: train/train.py`,
`spot: true`, `warm_pool: 30 min`, `channels: {train: s3://…}`, `checkpoints: true`, `metrics: {loss: '…'}`."""

from collections.abc import Callable
from posixpath import split
from typing import Any, cast


def training_job_in_long_form(job: Any) -> Any:
    """Return `job` with each short form written out; what is of another form stays as it is."""
    if not isinstance(job, dict):
        return job
    written = cast("dict[str, Any]", job)
    return {key: _READERS[key](value) if key in _READERS else value for key, value in written.items()}


def _image(written: Any) -> Any:
    if not isinstance(written, str):
        return written
    return {"uri": written} if "/" in written else {"kind": written}


def _source(written: Any) -> Any:
    if not isinstance(written, str):
        return written
    folder, script = split(written)
    return {"folder": folder or ".", "entry_point": script}


def _flag(written: Any) -> Any:
    if isinstance(written, bool):
        return {} if written else None
    return written


def _checkpoints(written: Any) -> Any:
    return {"s3": written} if isinstance(written, str) else _flag(written)


def _place(written: Any) -> Any:
    return {"s3": written} if isinstance(written, str) else written


def _warm_pool(written: Any) -> Any:
    """A bare number is a time whose unit was forgotten."""
    is_time = isinstance(written, str | int | float) and not isinstance(written, bool)
    return {"keep": written} if is_time else written


def _distribution(written: Any) -> Any:
    return {"kind": written} if isinstance(written, str) else written


def _schedule(written: Any) -> Any:
    return {"when": written} if isinstance(written, str) else written


def _capacity_retries(written: Any) -> Any:
    return {"attempts": written} if isinstance(written, int) and not isinstance(written, bool) else written


def _channels(written: Any) -> Any:
    """One place alone is the channel that the SDK calls `training` too."""
    if isinstance(written, str):
        return {"training": _place(written)}
    return _entries(written, _place)


def _metrics(written: Any) -> Any:
    return _entries(written, lambda each: {"regex": each} if isinstance(each, str) else each)


def _entries(written: Any, change: Callable[[Any], Any]) -> Any:
    if not isinstance(written, dict):
        return written
    return {name: change(each) for name, each in cast("dict[str, Any]", written).items()}


_READERS: dict[str, Callable[[Any], Any]] = {
    "image": _image,
    "source": _source,
    "spot": _flag,
    "warm_pool": _warm_pool,
    "channels": _channels,
    "checkpoints": _checkpoints,
    "output": _place,
    "metrics": _metrics,
    "distribution": _distribution,
    "schedule": _schedule,
    "capacity_retries": _capacity_retries,
}
