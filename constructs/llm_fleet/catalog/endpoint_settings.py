"""What SageMaker takes of an endpoint's settings, and what we take where nobody told."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.limit import Limit

_LIMITS = (
    *("name", "instance_count", "volume_gib", "timeout_seconds", "environment", "environment_key"),
    *("environment_value", "model_address"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """Limits and defaults."""

    name: Limit
    """Of the endpoint."""
    variant: str
    """The name of the one variant of an endpoint."""
    instance_count: Limit
    volume_gib: Limit
    """The EBS volume of an instance."""
    timeout_seconds: Limit
    """Of both waits at the start: for the model's data, and for the first healthy answer."""
    environment: Limit
    """How many variables a container gets."""
    environment_key: Limit
    environment_value: Limit
    environment_bytes: int
    """All of them together."""
    reserved_environment: tuple[str, ...]
    """What names begin with that SageMaker sets by itself."""
    secret_environment: tuple[str, ...]
    """Names whose values are secrets."""
    model_address: Limit
    """An address in S3."""
    usable_share: float
    """Which part of an accelerator's memory a server takes."""
    image_gib: int
    """What the image takes of the volume."""
    bytes_per_parameter: int
    """What servers hold a weight in."""
    default_volume_gib: int
    """The volume for a model whose size is not known."""


@cache
def endpoint_settings() -> EndpointSettings:
    """Return the facts, read once a process."""
    facts: dict[str, Any] = dict(load("endpoint_settings"))
    facts |= {name: Limit(**facts[name]) for name in _LIMITS}
    facts |= {name: tuple(facts[name]) for name in ("reserved_environment", "secret_environment")}
    return EndpointSettings(**facts)
