"""A training job of a fleet file: beside its description, what it names of the rest of the fleet."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from llm_fleet.spec.training_job import TrainingJobSpec
from llm_fleet.spec.training_job_data import Channel, below_mount
from llm_fleet.spec.values import TopicArn
from llm_fleet.spec.watch import JobWatch

_KNOWN_LATER = "${Token[known-later]}"
"""Something of the fleet's own that only the deployment knows, in the form that rules pass over."""


class FleetChannel(Channel):
    """A channel of a fleet file, which may be on the fleet's own storage."""

    bucket: str | None = None
    """A name under `storage.buckets`, in place of `s3`: the fleet's own bucket."""
    prefix: str | None = None
    """With `bucket`: its folder there. Default: the whole bucket."""
    fsx: str | None = None
    """Its folder on the fleet's FSx for Lustre, from the file system's root, e.g. `data/train`."""


class TrainingJobConfig(TrainingJobSpec):
    """A training job that can be started again and again; its key is its name."""

    # Pyright does not see that models are frozen, where an attribute may have a narrower type.
    channels: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Mapping[str, FleetChannel], Field(examples=["{train: s3://my-data/train}"])
    ] = {}
    """The data, by the names that the script knows: `{train: s3://my-data/train}`. Default: none."""
    bucket: str | None = None
    """A name under `storage.buckets` for script, results and checkpoints. Default: a bucket of the job's own."""
    alarm_topic: TopicArn | None = None
    """ARN of the SNS topic that alarms tell. Default: none; they only show."""
    watched: bool = True
    """Whether the fleet's `watch` looks after it. Default: yes, where there is one."""
    watch: JobWatch | None = None
    """How the fleet's watch looks after it otherwise than after the others. Default: no otherwise."""

    def stand_in(self, directory: Path | None) -> None:
        """Let relative paths begin at `directory`, that of the fleet file; for the loader."""
        if self.source is not None:
            self.source.stand_in(directory)

    def in_fleet(
        self,
        fleet_name: str,
        *,
        tags: Mapping[str, str] | None = None,
        buckets: Mapping[str, tuple[str, str | None]] | None = None,
        lustre: tuple[str, str] = (_KNOWN_LATER, _KNOWN_LATER),
    ) -> TrainingJobSpec:
        """Return the job on the fleet's storage, under the name that two fleets of an account can both have.

        - `tags`: the fleet's. Default: none.
        - `buckets`: name and key of the fleet's own, by their names in the file. Default: made later.
        - `lustre`: id and mount name of its file system. Default: known later.
        """
        return self.narrowed(
            TrainingJobSpec,
            name=f"{fleet_name}-{self.name}",
            tags={**(tags or {}), **self.tags},
            channels={name: _placed(channel, buckets, lustre) for name, channel in self.channels.items()},
        )


def _placed(
    channel: FleetChannel, buckets: Mapping[str, tuple[str, str | None]] | None, lustre: tuple[str, str]
) -> Channel:
    if channel.fsx is not None:
        file_system_id, mount_name = lustre
        directory = below_mount(mount_name, channel.fsx)
        return channel.narrowed(Channel, file_system_id=file_system_id, directory=directory)
    if channel.bucket is not None:
        # The rules judge the prefix as it is written.
        name, key = ("made-by-the-fleet", channel.key_arn) if buckets is None else buckets[channel.bucket]
        prefix = channel.prefix or ""
        return channel.narrowed(
            Channel, uri=f"s3://{name}/{prefix if buckets is None else prefix.strip('/')}", key_arn=key
        )
    return channel.narrowed(Channel)
