"""What the rules of notebook instances ask of what they judge: the construct's values, or the fleet file's."""

from collections.abc import Sequence
from typing import Protocol

from llm_fleet.rules.terms import InternetAccess


class RepositoryLike(Protocol):
    """A Git repository that is cloned onto the instance."""

    @property
    def url(self) -> str:
        """Where it is, `https://…`."""
        ...

    @property
    def branch(self) -> str | None:
        """`None` for the repository's own default."""
        ...

    @property
    def secret_arn(self) -> str | None:
        """The secret with user name and password; `None` for a repository that everybody may read."""
        ...


class NotebookLike(Protocol):
    """A notebook instance as its owner describes it."""

    @property
    def notebook_name(self) -> str | None:
        """Its name; `None` where one is made up."""
        ...

    @property
    def instance_type(self) -> str:
        """E.g. `ml.t3.medium`."""
        ...

    @property
    def platform(self) -> str:
        """E.g. `notebook-al2023-v1`."""
        ...

    @property
    def volume_gib(self) -> int:
        """GiB of the volume that keeps the work."""
        ...

    @property
    def idle_minutes(self) -> int | None:
        """Minutes without activity after which it is stopped; `None` for never."""
        ...

    @property
    def repositories(self) -> Sequence[RepositoryLike]:
        """The first is where JupyterLab opens."""
        ...

    @property
    def pins(self) -> Sequence[str]:
        """What pip is held to."""
        ...

    @property
    def name_prefixes(self) -> Sequence[str]:
        """How the names of jobs, models and endpoints begin that it may make and delete."""
        ...

    @property
    def internet(self) -> bool:
        """Whether it is on the internet by SageMaker's own network."""
        ...

    @property
    def has_network(self) -> bool:
        """Whether it stands in a network of ours."""
        ...

    @property
    def network_internet(self) -> InternetAccess | None:
        """How that network leads out; `None` where nobody told."""
        ...
