"""A training runtime of the fleet file as the rules see it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llm_fleet.config.training.compile_cache import CompileCacheConfig
from llm_fleet.config.training.environment import EnvironmentConfig
from llm_fleet.config.training.training import TrainingConfig
from llm_fleet.rules.training.environment import EnvironmentKind, EnvironmentUse
from llm_fleet.spec.model_server import ServerKind


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentView:
    """An environment with all attributes that any kind has (`EnvironmentLike`)."""

    kind: EnvironmentKind
    label: str | None
    groups: Sequence[str] | None
    use: EnvironmentUse | None = None
    stack: str | None = None
    release: str | None = None
    python: str | None = None
    packages: Sequence[str] = ()
    image: str | None = None
    program: str | None = None
    server_kind: ServerKind | None = None

    @classmethod
    def of(cls, config: EnvironmentConfig) -> "EnvironmentView":
        """Return the view of an environment of any kind."""
        written: dict[str, Any] = {name: getattr(config, name) for name in type(config).model_fields}
        return cls(label=config.name, **written)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingView:
    """A runtime of the file (`RuntimeLike`)."""

    config: TrainingConfig

    @property
    def environments(self) -> Sequence[EnvironmentView]:
        """In the order of the file."""
        return [EnvironmentView.of(each) for each in self.config.environments.values()]

    @property
    def folder(self) -> str | None:
        """As written."""
        return self.config.folder

    @property
    def compile_cache(self) -> CompileCacheConfig | None:
        """As written."""
        return self.config.compile_cache

    @property
    def variables(self) -> Mapping[str, str]:
        """As written."""
        return self.config.variables

    @property
    def processes(self) -> Mapping[str, int]:
        """As written."""
        return self.config.processes

    @property
    def hub_token_secret_arn(self) -> str | None:
        """As written."""
        return self.config.hub_token_secret_arn
