"""What a cluster of a fleet file is set up with, on the fleet's own buckets and with the CDK's objects."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.fleet_file.node_setup import NodeSetupModel
from llm_fleet.references import bucket_of
from llm_fleet_stacks.storage_stack import StorageStack


def in_fleet(config: NodeSetupModel, storage: StorageStack) -> dict[str, Any]:
    """Return the fields of the cluster's description in which `config` names what else the fleet has."""
    mounts = (
        mount.model_copy(update={"bucket": storage.buckets.get(str(mount.bucket), mount.bucket)})
        for mount in config.s3_mounts
    )
    return {**config.of_fleet, "s3_mounts": tuple(mounts)}


def buckets_of(scope: Construct, names: Iterable[str], *, own: Mapping[str, s3.IBucket]) -> list[s3.IBucket]:
    """Return the buckets of `names`: a key of the fleet's `own` buckets, or `s3://` and the name of an existing one."""
    return [own[name] if name in own else cast("s3.IBucket", bucket_of(scope, name)) for name in names]
