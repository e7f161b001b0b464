"""The SageMaker parts of a fleet file: their descriptions, with references to the rest of the fleet."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from llm_fleet.catalog.notebook import studio_facts
from llm_fleet.fleet_file.clusters import MADE_BY_THE_FLEET
from llm_fleet.spec.endpoint import S3_SCHEME, TARBALL_ENDING, EndpointModel, EndpointSpec
from llm_fleet.spec.notebook import NotebookSpec
from llm_fleet.spec.studio import StudioSpec, StudioUser
from llm_fleet.spec.training_job import TrainingJobSpec
from llm_fleet.spec.training_job_data import Channel, below_mount
from llm_fleet.spec.values import TopicArn
from llm_fleet.spec.watch import JobWatch


class NotebookConfig(NotebookSpec):
    """A SageMaker notebook instance. Its key is its name, after the prefix of the fleet."""

    bucket_keys: Annotated[tuple[str, ...], Field(alias="buckets", examples=[["data"]])] = ()
    """Buckets of `storage.buckets` that it can use; the first is the SDK's default bucket. Default: a bucket is
    created."""
    clusters: tuple[str, ...] = ()
    """Clusters of the fleet on whose nodes the notebook can open shells. Default: none."""
    tags: Mapping[str, str] = {}
    """Tags of the notebook, in addition to those of the fleet. Default: none."""

    def in_fleet(self, fleet_name: str) -> NotebookSpec:
        """Return the description with the fleet's name as a prefix, so that two fleets of an account can have the same
        key."""
        return self.narrowed(NotebookSpec, name=f"{fleet_name}-{self.name}")


IdsOnClusters = Mapping[str, Mapping[str, tuple[int, int]]]
"""User id and group id of users, by cluster and name."""


class StudioConfig(StudioSpec):
    """A SageMaker Studio domain and its users."""

    mount_fsx: Annotated[bool, Field(alias="fsx")] = True
    """Whether users can attach the fleet's FSx for Lustre to spaces, at /fsx. Default: yes, if there is one."""
    bucket_keys: Annotated[tuple[str, ...], Field(alias="buckets", examples=[["data"]])] = ()
    """Buckets of `storage.buckets` that users can use; the first is the SDK's default bucket. Default: a bucket is
    created."""
    clusters: tuple[str, ...] = ()
    """Clusters of the fleet on whose nodes users can open shells. Default: none."""
    tags: Mapping[str, str] = {}
    """Tags of Studio, and of resources that users create in it, in addition to those of the fleet. Default: none."""

    def in_fleet(self, fleet_name: str, ids: IdsOnClusters) -> StudioSpec:
        """Return the description with its name in the fleet, and with the ids that its users have on `clusters`."""
        return self.narrowed(
            StudioSpec,
            domain_name=self.domain_name or f"{fleet_name}-studio",
            users={name: _with_ids(name, user, ids) for name, user in self.users.items()},
        )


def _with_ids(name: str, user: StudioUser, ids: IdsOnClusters) -> StudioUser:
    """Return `user` with the ids of the same user on the first cluster that has one, if Studio accepts them."""
    facts = studio_facts()
    found = next((each[name] for each in ids.values() if name in each), None)
    if user.uid is not None or user.gid is not None or found is None:
        return user
    uid, gid = found
    return user.narrowed(StudioUser, uid=uid, gid=gid) if facts.uid.holds(uid) and facts.gid.holds(gid) else user


class FleetEndpointModel(EndpointModel):
    """The model of an endpoint in a fleet file, which can be in the fleet's own bucket."""

    bucket: str | None = None
    """Name under `storage.buckets`, instead of `s3` and `tarball`: the fleet's own bucket."""
    key: str | None = None
    """With `bucket`: the model's folder or archive in it, e.g. `gpt-j/` or `gpt-j/model.tar.gz`."""

    def on(self, buckets: Mapping[str, tuple[str, str | None]] | None) -> EndpointModel:
        """Return the model in `buckets`: S3 name and KMS key of each bucket, by its key in the file; `None` before
        deployment."""
        if self.bucket is None:
            return self.narrowed(EndpointModel)
        path = self.key or ""
        if buckets is None:  # The rules check the path as it is written.
            uri, key_arn = f"{S3_SCHEME}{MADE_BY_THE_FLEET}/{path}", self.key_arn
        else:
            name, key_arn = buckets[self.bucket]
            uri = f"{S3_SCHEME}{name}/{path.strip('/')}"
        place = "tarball_uri" if path.endswith(TARBALL_ENDING) else "s3_uri"
        return self.narrowed(EndpointModel, **{place: uri, "key_arn": key_arn})


class EndpointConfig(EndpointSpec):
    """A model behind a SageMaker endpoint. Its key is its name, after the prefix of the fleet."""

    # Pyright does not know that models are frozen, so that an attribute may have a narrower type.
    model: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        FleetEndpointModel,
        Field(examples=[{"hub": "EleutherAI/gpt-j-6b", "revision": "float16"}, "s3://my-models/gpt-j/"]),
    ]
    """The model that is served: an id on the Hub, `s3://…`, or a mapping."""
    in_network: Annotated[bool | None, Field(alias="network")] = None
    """Whether the instances are in the fleet's network. Default: yes, if the fleet has one."""
    tags: Mapping[str, str] = {}
    """Tags of the endpoint, in addition to those of the fleet. Default: none."""

    def in_fleet(self, fleet_name: str, buckets: Mapping[str, tuple[str, str | None]] | None = None) -> EndpointSpec:
        """Return the description on the fleet's storage, with the fleet's name as a prefix of its name.

        `buckets`: S3 name and KMS key of the fleet's own buckets, by their keys in the file. Default: unknown before
        deployment.
        """
        return self.narrowed(EndpointSpec, name=f"{fleet_name}-{self.name}", model=self.model.on(buckets))

    def is_in_network(self, *, fleet_has_one: bool) -> bool:
        """Return whether its instances are in the fleet's network."""
        return fleet_has_one if self.in_network is None else self.in_network


_KNOWN_LATER = "${Token[known-later]}"
"""Placeholder for a value of the fleet that is resolved at deployment; rules skip it."""


class FleetChannel(Channel):
    """A channel of a fleet file, which can be on the fleet's own storage."""

    bucket: str | None = None
    """Name under `storage.buckets`, instead of `s3`: the fleet's own bucket."""
    prefix: str | None = None
    """With `bucket`: the folder in it. Default: the whole bucket."""
    fsx: str | None = None
    """Folder on the fleet's FSx for Lustre, relative to the file system's root, e.g. `data/train`."""


class TrainingJobConfig(TrainingJobSpec):
    """A training job that can be started any number of times; its key is its name."""

    # Pyright does not know that models are frozen, so that an attribute may have a narrower type.
    channels: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Mapping[str, FleetChannel], Field(examples=["{train: s3://my-data/train}"])
    ] = {}
    """Input data, by channel name: `{train: s3://my-data/train}`. Default: none."""
    bucket: str | None = None
    """Name under `storage.buckets` for script, results and checkpoints. Default: a bucket is created for the job."""
    alarm_topic: TopicArn | None = None
    """ARN of the SNS topic for alarms. Default: none; alarms are only visible in CloudWatch."""
    watched: bool = True
    """Whether the fleet's `watch` includes this job. Default: yes, if there is one."""
    watch: JobWatch | None = None
    """Settings of the fleet's watch for this job. Default: as in `watch` of the fleet."""

    def in_fleet(
        self,
        fleet_name: str,
        *,
        tags: Mapping[str, str] | None = None,
        buckets: Mapping[str, tuple[str, str | None]] | None = None,
        lustre: tuple[str, str] = (_KNOWN_LATER, _KNOWN_LATER),
    ) -> TrainingJobSpec:
        """Return the job on the fleet's storage, with the fleet's name as a prefix of its name.

        - `tags`: the fleet's. Default: none.
        - `buckets`: S3 name and KMS key of the fleet's own, by their keys in the file. Default: unknown before
          deployment.
        - `lustre`: id and mount name of its file system. Default: unknown before deployment.
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
        # The rules check the prefix as it is written.
        name, key = ("made-by-the-fleet", channel.key_arn) if buckets is None else buckets[channel.bucket]
        prefix = channel.prefix or ""
        return channel.narrowed(
            Channel, uri=f"s3://{name}/{prefix if buckets is None else prefix.strip('/')}", key_arn=key
        )
    return channel.narrowed(Channel)
