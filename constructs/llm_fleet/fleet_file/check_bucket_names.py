"""The buckets of the fleet's own, or of others, that clusters, services and endpoints name."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.node_setup import NodeSetupModel
from llm_fleet.rules.buckets import check_bucket_name
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.values import did_you_mean

_S3 = "s3://"


def check_bucket_names(config: NodeSetupModel, fleet: Fleet) -> Iterator[Problem]:
    """Return which buckets there cannot be, by attribute names below the cluster."""
    for index, mount in enumerate(config.s3_mounts):
        yield from (problem.under("s3_mounts", index, "bucket") for problem in _check_bucket(mount.bucket, fleet))
    for attribute, names in (("reads", config.reads), ("writes", config.writes)):
        for index, name in enumerate(names):
            yield from (problem.under(attribute, index) for problem in _check_bucket(name, fleet))


def _check_bucket(name: str, fleet: Fleet) -> Iterator[Problem]:
    if name.startswith(_S3):
        for problem in check_bucket_name(name.removeprefix(_S3).removesuffix("/")):
            remedy = "write `s3://` and the name of a bucket; nodes are given the whole bucket, not a folder in it"
            yield replace(problem, path=(), remedy=remedy)
    else:
        yield from check_own_bucket(
            name, fleet, otherwise="`s3://` and the name of one that exists", also="s3://<bucket>"
        )


def check_own_bucket(
    name: str | None, fleet: Fleet, *path: str, otherwise: str, also: str | None = None
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
