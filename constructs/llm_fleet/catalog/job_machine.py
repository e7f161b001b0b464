"""Facts about the state machine that runs a training job: the service's limits, and our own choices."""

from typing import Any

from llm_fleet.catalog.data_file import load


def job_machine_fact(name: str) -> Any:
    """Return a single fact by its name, e.g. `history_events`."""
    return load("job_machine")[name]
