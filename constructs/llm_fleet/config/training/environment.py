"""What every training environment in the fleet file can be told."""

from collections.abc import Mapping
from typing import ClassVar

from llm_fleet.rules.training.environment import EnvironmentUse
from llm_fleet.spec.model import NamedModel


class EnvironmentConfig(NamedModel):
    """An environment that jobs run in, of any kind. Its key is the readable part of its name on the nodes."""

    other_words: ClassVar[Mapping[str, str]] = {
        "group": "write `groups: [NAME]`",
        "partition": "write `groups: [NAME]`",
        "python_version": "write `python`",
        "requirements": "write `packages: [NAME==VERSION]`; `llm-fleet mirror lock --requirements` pins them",
        "pip": "write `packages: [NAME==VERSION]`; `llm-fleet mirror lock --requirements` pins them",
        "venv": "write `kind: wheels`",
        "uri": "write `image`",
        "lock": "write `downloads: {lock: …}` of the cluster: one lock file is for all that nodes fetch",
    }

    groups: tuple[str, ...] | None = None
    """Names of the groups or queues that it is for. Default: all compute groups that it fits."""
    use: EnvironmentUse | None = None
    """`jobs`, or `export` for what `export` of a job runs in; a group has one of each. Default: `jobs`, but of
    `kind: server` `export`."""
