"""An ECS service in a template: its container, environment variables and number of tasks."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerContainer:
    """The container that the load balancer reaches. Times in seconds."""

    name: str
    image: str
    entry_point: tuple[str, ...]
    command: tuple[str, ...]
    environment: Mapping[str, str]
    secrets: Mapping[str, str]
    """Variable to where its value comes from: a secret's logical id or ARN, with or without `:key::`."""
    port: int
    stop_timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One service behind one target group."""

    name: str
    logical_id: str
    path: str
    """The construct's path in the app; empty when it is not in the template."""
    desired: int
    target_group: str
    container: ServerContainer
    others: tuple[str, ...]
    """Names of the task's other containers, which are not run here."""
