"""Loads a configuration with ParallelCluster's schema, and returns errors as a flat list."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from marshmallow import ValidationError
from pcluster.aws.common import AWSClientError
from pcluster.aws.ec2 import Ec2Client
from pcluster.aws.resource_groups import ResourceGroupsClient
from pcluster.config.cluster_config import SlurmClusterConfig
from pcluster.schemas.cluster_schema import ClusterSchema

_REQUESTED = (
    (Ec2Client, "describe_capacity_reservations"),
    (Ec2Client, "get_instance_type_and_reservation_type_from_capacity_reservation"),
    (ResourceGroupsClient, "get_capacity_reservation_ids_from_group_resources"),
)


def load(configuration: dict[str, Any], cluster_name: str) -> SlurmClusterConfig:
    """Return ParallelCluster's object of a configuration, or raise its ValidationError.

    For a configuration with a capacity reservation the loader calls EC2, and continues if the call fails.
    """
    return ClusterSchema(cluster_name=cluster_name).load(configuration)


@contextmanager
def _without_reservations() -> Iterator[None]:
    """Make the call fail immediately, with or without moto."""
    none = AWSClientError("describe_capacity_reservations", "not called")
    with ExitStack() as stack:
        for client, name in _REQUESTED:
            stack.enter_context(patch.object(client, name, side_effect=none))
        yield


def check_schema(configuration: dict[str, Any], cluster_name: str) -> list[dict[str, str]]:
    """Return the schema's errors in a configuration, each with its path; empty if it is valid."""
    try:
        with _without_reservations():
            load(configuration, cluster_name)
    except ValidationError as rejected:
        return messages(rejected)
    return []


def messages(rejected: ValidationError) -> list[dict[str, str]]:
    """Return the flat messages of an error, e.g. at `Scheduling/SlurmQueues/0/Name`."""
    return [{"path": "/".join(path), "message": text} for path, text in _flat(rejected.messages, ())]


def _flat(errors: Any, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], str]]:
    if isinstance(errors, dict):
        own = {key: (*path, str(key)) if key != "_schema" else path for key in errors}
        return [one for key, value in errors.items() for one in _flat(value, own[key])]
    if isinstance(errors, list):
        return [one for value in errors for one in _flat(value, path)]
    return [(path, str(errors))]
