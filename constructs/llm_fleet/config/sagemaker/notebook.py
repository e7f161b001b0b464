"""A notebook instance."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from llm_fleet.catalog.notebook import notebook_facts
from llm_fleet.config.sagemaker.notebook_values import IdleMinutes, NotebookInstanceName, PlatformName
from llm_fleet.config.sagemaker.repository import RepositoryConfig
from llm_fleet.spec.model import NamedModel
from llm_fleet.spec.values import Gibibytes, KeyArn

_FACTS = notebook_facts()


def _or_address(schema: dict[str, Any]) -> None:
    schema["items"] = {"anyOf": [schema["items"], {"type": "string", "pattern": "^https://"}]}


class NotebookConfig(NamedModel):
    """A notebook instance of SageMaker. Its key is its name, after that of the fleet."""

    other_words: ClassVar[Mapping[str, str]] = {
        "type": "write `instance`",
        "instance_type": "write `instance`",
        "volume_size": "write `volume`",
        "disk": "write `volume`",
        "repository": "write `repositories`, a list",
        "git": "write `repositories`, a list",
        "bucket": "write `buckets`, a list of keys of `storage.buckets`",
        "auto_stop": "write `idle`",
        "subnet": "write `az`: it stands in the compute subnet of that AZ",
        "role": "leave it out: one is made, that can do what the other keys ask for",
        "lifecycle": "leave it out: llm-fleet's own script runs at each start",
        "name": "write the name as the notebook's key, in front of its colon",
    }

    instance_type: NotebookInstanceName = Field(default=_FACTS.default_instance_type, alias="instance")
    """On what it runs. Default: `ml.t3.medium`, the cheapest living type."""
    platform: PlatformName = _FACTS.default_platform
    """Operating system and JupyterLab. Default: `notebook-al2023-v1`."""
    volume_gib: Gibibytes = Field(default=_FACTS.volume_gib.default, alias="volume")
    """The volume that keeps the work, and goes with the instance. Default: `50 GiB`."""
    repositories: tuple[RepositoryConfig, ...] = Field(
        default=(), examples=[["https://github.com/aws/amazon-sagemaker-examples.git"]], json_schema_extra=_or_address
    )
    """Git repositories, cloned at the start; JupyterLab opens in the first. Default: none; up to 4."""
    bucket_keys: tuple[str, ...] = Field(default=(), alias="buckets", examples=[["data"]])
    """Which of `storage.buckets` it works with; the first is the SDK's default bucket. Default: one of its own."""
    idle_minutes: IdleMinutes = Field(default=_FACTS.idle_minutes.default, alias="idle", examples=["60 minutes"])
    """Stopped after so long without activity, or `never`. Default: `60 minutes`."""
    internet: bool = False
    """Whether it is on the internet by SageMaker's own network. Default: no; it needs the fleet's network then."""
    pins: tuple[str, ...] = _FACTS.default_pins
    """What pip on it is held to. Default: `[sagemaker<3]`, with which published notebooks run."""
    name_prefixes: tuple[str, ...] = Field(default=(), alias="prefixes", examples=[["my-team-"]])
    """How names of jobs, models and endpoints begin that it may make and delete. Default: its own name, and
    `huggingface-`, `pytorch-` and `tensorflow-`, which the SDK writes."""
    clusters: tuple[str, ...] = ()
    """Clusters of the fleet on whose nodes shells are opened from it. Default: none."""
    availability_zone_id: str | None = Field(default=None, alias="az")
    """AZ id of its subnet. Default: the network's first."""
    root_access: bool = Field(default=False, alias="root")
    """Whether people become root on it. Default: no."""
    kms_key_arn: KeyArn | None = Field(default=None, alias="key")
    """ARN of the KMS key of its volume. Default: the fleet's own."""
    tags: Mapping[str, str] = {}
    """Tags of the notebook, next to those of the fleet. Default: none."""
