"""The SageMaker pieces of a fleet file: beside their descriptions, what they name of the rest of the fleet."""

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
    """A notebook instance of SageMaker. Its key is its name, after that of the fleet."""

    bucket_keys: Annotated[tuple[str, ...], Field(alias="buckets", examples=[["data"]])] = ()
    """Which of `storage.buckets` it works with; the first is the SDK's default bucket. Default: one of its own."""
    clusters: tuple[str, ...] = ()
    """Clusters of the fleet on whose nodes shells are opened from it. Default: none."""
    tags: Mapping[str, str] = {}
    """Tags of the notebook, next to those of the fleet. Default: none."""

    def in_fleet(self, fleet_name: str) -> NotebookSpec:
        """Return it under the name that two fleets of an account can both have."""
        return self.narrowed(NotebookSpec, name=f"{fleet_name}-{self.name}")


IdsOnClusters = Mapping[str, Mapping[str, tuple[int, int]]]
"""User id and group id of people, by cluster and name."""


class StudioConfig(StudioSpec):
    """A domain of SageMaker Studio, and who works in it."""

    mount_fsx: Annotated[bool, Field(alias="fsx")] = True
    """Whether people can attach the fleet's FSx for Lustre to spaces, at /fsx. Default: yes, where there is one."""
    bucket_keys: Annotated[tuple[str, ...], Field(alias="buckets", examples=[["data"]])] = ()
    """Which of `storage.buckets` people work with; the first is the SDK's default bucket. Default: one of its own."""
    clusters: tuple[str, ...] = ()
    """Clusters of the fleet on whose nodes people open shells from it. Default: none."""
    tags: Mapping[str, str] = {}
    """Tags of Studio, and of what people make in it, next to those of the fleet. Default: none."""

    def in_fleet(self, fleet_name: str, ids: IdsOnClusters) -> StudioSpec:
        """Return it under its name in the fleet, its people with the ids that they have on `clusters`."""
        return self.narrowed(
            StudioSpec,
            domain_name=self.domain_name or f"{fleet_name}-studio",
            users={name: _with_ids(name, user, ids) for name, user in self.users.items()},
        )


def _with_ids(name: str, user: StudioUser, ids: IdsOnClusters) -> StudioUser:
    """Return `user` with the ids of the first cluster that has one of this name, if Studio takes them."""
    facts = studio_facts()
    found = next((each[name] for each in ids.values() if name in each), None)
    if user.uid is not None or user.gid is not None or found is None:
        return user
    uid, gid = found
    return user.narrowed(StudioUser, uid=uid, gid=gid) if facts.uid.holds(uid) and facts.gid.holds(gid) else user


class FleetEndpointModel(EndpointModel):
    """The model of an endpoint in a fleet file, which may be in the fleet's own storage."""

    bucket: str | None = None
    """A name under `storage.buckets`, in place of `s3` and `tarball`: the fleet's own bucket."""
    key: str | None = None
    """With `bucket`: its folder there, or its archive, e.g. `gpt-j/` or `gpt-j/model.tar.gz`."""

    def on(self, buckets: Mapping[str, tuple[str, str | None]] | None) -> EndpointModel:
        """Return it in `buckets`, name and key of the fleet's own by their names in the file; `None`: made later."""
        if self.bucket is None:
            return self.narrowed(EndpointModel)
        path = self.key or ""
        if buckets is None:  # The rules judge the path as it is written.
            uri, key_arn = f"{S3_SCHEME}{MADE_BY_THE_FLEET}/{path}", self.key_arn
        else:
            name, key_arn = buckets[self.bucket]
            uri = f"{S3_SCHEME}{name}/{path.strip('/')}"
        place = "tarball_uri" if path.endswith(TARBALL_ENDING) else "s3_uri"
        return self.narrowed(EndpointModel, **{place: uri, "key_arn": key_arn})


class EndpointConfig(EndpointSpec):
    """A model behind an endpoint of SageMaker. Its key is its name, after that of the fleet."""

    # Pyright does not see that models are frozen, where an attribute may have a narrower type.
    model: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        FleetEndpointModel,
        Field(examples=[{"hub": "EleutherAI/gpt-j-6b", "revision": "float16"}, "s3://my-models/gpt-j/"]),
    ]
    """What is served: an id of the Hub, `s3://…`, or more about it."""
    in_network: Annotated[bool | None, Field(alias="network")] = None
    """Whether the instances stand in the fleet's network. Default: they do where the fleet has one."""
    tags: Mapping[str, str] = {}
    """Tags of the endpoint, next to those of the fleet. Default: none."""

    def in_fleet(self, fleet_name: str, buckets: Mapping[str, tuple[str, str | None]] | None = None) -> EndpointSpec:
        """Return it under the name that two fleets of an account can both have, on the fleet's storage.

        `buckets`: name and key of the fleet's own, by their names in the file. Default: made later.
        """
        return self.narrowed(EndpointSpec, name=f"{fleet_name}-{self.name}", model=self.model.on(buckets))

    def is_in_network(self, *, fleet_has_one: bool) -> bool:
        """Return whether its instances stand in the fleet's network."""
        return fleet_has_one if self.in_network is None else self.in_network


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
