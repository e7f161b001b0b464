"""What a user may write of a job in short, written out: `data: s3://…`."""

from typing import Any, cast


def job_in_long_form(job: Any) -> Any:
    """Return `job` with each short form written out; what is of another form stays as it is."""
    if not isinstance(job, dict):
        return job
    written = cast("dict[str, Any]", job)
    place = written.get("data")
    return {**written, "data": {"place": place}} if isinstance(place, str) else written
