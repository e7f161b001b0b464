"""What the rules ask of a training runtime: read-only attributes, all plain values.

The construct's value classes and the fleet file's models both have this shape, so that one rule serves both.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from llm_fleet.rules.inference.terms import ServerKind
from llm_fleet.rules.training.terms import EnvironmentKind, EnvironmentUse


class EnvironmentLike(Protocol):
    """An environment that jobs run in. What its kind has no use for is `None` or empty."""

    @property
    def kind(self) -> EnvironmentKind:
        """What it is made of."""
        ...

    @property
    def use(self) -> EnvironmentUse | None:
        """What it is for; `None` for the usual use of its kind."""
        ...

    @property
    def label(self) -> str | None:
        """The readable part of its name; `None` for one made of what is in it."""
        ...

    @property
    def groups(self) -> Sequence[str] | None:
        """Names of the compute groups that it is for; `None` for all that it fits."""
        ...

    @property
    def stack(self) -> str | None:
        """Of a Neuron release, which packages; `None` for the family's usual ones."""
        ...

    @property
    def release(self) -> str | None:
        """The Neuron release, or the version of the model parallel library; `None` for the usual one."""
        ...

    @property
    def python(self) -> str | None:
        """Version of Python, e.g. `3.10`; `None` for the usual one."""
        ...

    @property
    def packages(self) -> Sequence[str]:
        """`name` or `name==version`, each in the lock file."""
        ...

    @property
    def image(self) -> str | None:
        """The container image."""
        ...

    @property
    def program(self) -> str | None:
        """What makes a conda prefix."""
        ...

    @property
    def server_kind(self) -> ServerKind | None:
        """The inference server whose image it is."""
        ...


class CompileCacheLike(Protocol):
    """How long compiled graphs are kept."""

    @property
    def max_age_days(self) -> int:
        """Days that one may lie unused."""
        ...

    @property
    def max_gib(self) -> int | None:
        """What they may take together; `None` for no limit."""
        ...


class RuntimeLike(Protocol):
    """What jobs find on the nodes."""

    @property
    def environments(self) -> Sequence[EnvironmentLike]:
        """What jobs run in."""
        ...

    @property
    def folder(self) -> str | None:
        """Where all of it lies on shared storage; `None` for the usual place."""
        ...

    @property
    def compile_cache(self) -> CompileCacheLike | None:
        """How long compiled graphs are kept; `None` for the usual time, where there is anything to compile for."""
        ...

    @property
    def variables(self) -> Mapping[str, str]:
        """Variables of jobs, over those of the fabric."""
        ...

    @property
    def processes(self) -> Mapping[str, int]:
        """Processes of a job on each node, by group, over those of its instance type."""
        ...

    @property
    def hub_token_secret_arn(self) -> str | None:
        """The secret with a token of the Hugging Face Hub."""
        ...
