"""The buckets of the fleet's own, or of others, that clusters, services and endpoints name."""

from collections.abc import Iterator

from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.node_setup import NodeSetupModel
from llm_fleet.rules.codes import Code
from llm_fleet.rules.node_setup import check_bucket_address
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.values import did_you_mean

_S3 = "s3://"


def check_bucket_names(config: NodeSetupModel, fleet: Fleet) -> Iterator[Problem]:
    """Return which buckets there cannot be, by attribute names below the cluster."""
    for index, mount in enumerate(config.s3_mounts):
        yield from _check_own(mount.bucket, fleet, "s3_mounts", index, "bucket")
    for attribute, names in (("reads", config.reads), ("writes", config.writes)):
        for index, name in enumerate(names):
            yield from check_bucket_address(name, attribute, index)
            yield from _check_own(name, fleet, attribute, index)


def _check_own(bucket: object, fleet: Fleet, *path: PathPart) -> Iterator[Problem]:
    if isinstance(bucket, str) and not bucket.startswith(_S3):
        yield from check_own_bucket(
            bucket, fleet, *path, otherwise="`s3://` and the name of one that exists", also="s3://<bucket>"
        )


def check_own_bucket(
    name: str | None, fleet: Fleet, *path: PathPart, otherwise: str, also: str | None = None
) -> Iterator[Problem]:
    """Return a problem at `path` unless `name` is a bucket of the fleet's own, or none is named.

    `otherwise`: what could be written for one of another's. `also`: beside the names, what may be written there.
    """
    names = list(fleet.storage.buckets)
    if name is not None and name not in names:
        yield Problem(
            code=Code.UNKNOWN_REFERENCE,
            message=f"there is no bucket {name!r} under `storage.buckets`",
            remedy=did_you_mean(name, names, otherwise=f"add it there, or write {otherwise}"),
            path=path,
            value=name,
            allowed=", ".join([*names, *([also] if also else [])]),
        )
