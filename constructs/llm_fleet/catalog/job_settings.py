"""The stages of a training run and what each lets its user set, as the batch files declare them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSetting:
    """One setting of a batch file."""

    text: str
    """What it is where nobody sets it, as bash reads it."""
    default: str | None
    """The same as the job gets it; `None` when only bash on the node knows, e.g. a folder that nodes tell."""
    comment: str
    """What it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStage:
    """One batch file of `lifecycle_scripts/jobs`; or `run.sh`, which all share."""

    file: str
    """Its name."""
    summary: str
    """What it does, in a sentence."""
    nodes: int
    """How many nodes it asks for where nobody says; 0 for `run.sh`."""
    settings: Mapping[str, JobSetting]
    """What it lets its user set, in the order of the file."""


@cache
def job_stages() -> Mapping[str, JobStage]:
    """Return the stages by name, in the order in which they are run."""
    return {name: _stage(facts) for name, facts in load("job_settings")["stages"].items()}


@cache
def shared_settings() -> JobStage:
    """Return what all stages share: the settings of `run.sh`."""
    return _stage(load("job_settings")["run"])


def _stage(facts: Mapping[str, Any]) -> JobStage:
    settings = {name: JobSetting(**one) for name, one in facts["settings"].items()}
    return JobStage(file=facts["file"], summary=facts["summary"], nodes=facts["nodes"], settings=settings)
