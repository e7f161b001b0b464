"""What the watch was told at deployment: its surroundings, and how it treats a job."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

WATCH_TAG = "llm-fleet:watch"
_RESTARTS = 3
_BACKOFF, _BACKOFF_MOST = 60, 3600
_GRACE = 1800
_MARGIN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """How one job is treated."""

    max_restarts: int = _RESTARTS
    """Of one root job, all causes together; 0 only tells."""
    backoff_seconds: int = _BACKOFF
    """Wait before the first restart; doubles with each."""
    backoff_most_seconds: int = _BACKOFF_MOST
    restart_at_max_runtime: bool = False
    layout: str | Mapping[str, Any] = "any"
    """A name in layouts.json, or a layout of one's own."""
    grace_seconds: int = _GRACE
    """After training began; until then spikes, stalls and throughput are not believed."""
    onset_margin_seconds: int = _MARGIN
    """A checkpoint is complete at least so long before an alarm's first bad datapoint, or it is not trusted."""
    alarms: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {})
    """Kind to its numbers."""

    def backoff(self, restart: int) -> int:
        """Return the seconds to wait before restart number `restart`, from 1."""
        return min(self.backoff_seconds * 2 ** (restart - 1), self.backoff_most_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A watch's settings."""

    prefixes: tuple[str, ...] = ()
    """Beginnings of the names of jobs that are watched whatever their tags."""
    clusters: tuple[str, ...] = ()
    """HyperPod clusters that are followed, by name; `*` is each."""
    everyone: Mapping[str, Any] = field(default_factory=lambda: {})
    jobs: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {})
    """Beginning of names to what differs for these jobs; the longest wins, and replaces key by key."""

    @classmethod
    def read(cls, text: str) -> "Settings":
        """Read the document of the environment; keys that are not a job's are the watch's own."""
        document: dict[str, Any] = json.loads(text)
        return cls(
            prefixes=tuple(document.pop("prefixes", ())),
            clusters=tuple(document.pop("clusters", ())),
            jobs=document.pop("jobs", {}),
            everyone=document,
        )

    def of(self, job: str) -> JobSettings:
        """Return how a job is treated; `job` is its name, or that of the first of its line."""
        prefix = max((prefix for prefix in self.jobs if job.startswith(prefix)), key=len, default=None)
        return JobSettings(**{**self.everyone, **(self.jobs[prefix] if prefix is not None else {})})

    def follows_cluster(self, name: str) -> bool:
        """Whether a HyperPod cluster's events are told."""
        return "*" in self.clusters or name in self.clusters


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The environment of the function."""

    watch: str
    """Name of the watch: value of its tag, part of its alarms' names."""
    table: str
    queue_url: str
    topic_arn: str
    settings: Settings

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Surroundings":
        """Read the variables; raises `KeyError` for one that is missing."""
        return cls(
            watch=environment["WATCH"],
            table=environment["TABLE"],
            queue_url=environment["QUEUE_URL"],
            topic_arn=environment["TOPIC_ARN"],
            settings=Settings.read(environment["SETTINGS"]),
        )

    @property
    def alarm_prefix(self) -> str:
        """What the names of the watch's alarms begin with; the slash keeps one watch's apart from another's."""
        return f"llm-fleet/{self.watch}/"

    def may_watch(self, job: str) -> bool:
        """Whether a job of that name can be one of the watch's: only those may be asked for, where prefixes tell."""
        return job.startswith(self.settings.prefixes or "")

    def watches(self, job: str, tags: Mapping[str, str]) -> bool:
        """Whether a job is one of the watch's: by its tag, or without one by its name."""
        if WATCH_TAG in tags:
            return tags[WATCH_TAG] == self.watch
        return job.startswith(self.settings.prefixes)
