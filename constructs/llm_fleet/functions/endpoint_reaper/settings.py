"""What the function was told when it was deployed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One endpoint, what belongs to it, and how long it lives."""

    endpoint: str
    """Its name."""
    config: str
    """Name of its configuration."""
    model: str
    """Name of its model."""
    ttl_seconds: int
    """How long it lives from its creation on."""
    rule: str
    """Name of the rule that runs the function again and again."""
    scaled: str
    """Application Auto Scaling's name of what is scaled; empty when nothing is."""
    topic: str
    """ARN of the topic that is told; empty when none is."""

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Self:
        """Take them from the function's environment. Raises `KeyError` for one that is missing."""
        return cls(
            endpoint=environment["ENDPOINT_NAME"],
            config=environment["CONFIG_NAME"],
            model=environment["MODEL_NAME"],
            ttl_seconds=int(environment["TTL_SECONDS"]),
            rule=environment["RULE_NAME"],
            scaled=environment.get("SCALED", ""),
            topic=environment.get("TOPIC_ARN", ""),
        )
