"""Backups, snapshots and log groups that are encrypted with a KMS key, also those that no stack has."""

from collections.abc import Iterator

from llm_fleet.cli.clients import AwsClients

_CALLS = (
    ("fsx", "describe_backups", "Backups", "BackupId"),
    ("rds", "describe_db_snapshots", "DBSnapshots", "DBSnapshotIdentifier"),
    ("rds", "describe_db_cluster_snapshots", "DBClusterSnapshots", "DBClusterSnapshotIdentifier"),
    ("logs", "describe_log_groups", "logGroups", "logGroupName"),
)
"""Service, call, and the keys of its response.

Source: model botocore fsx Backup$KmsKeyId, rds DBSnapshot$KmsKeyId, rds DBClusterSnapshot$KmsKeyId
Source: model botocore logs LogGroup$kmsKeyId
"""


def data_by_key(clients: AwsClients) -> dict[str, list[str]]:
    """Return the ids of the Region's backups, snapshots and log groups by the id of their KMS key."""
    found: dict[str, list[str]] = {}
    for key, id in _encrypted(clients):
        found.setdefault(key, []).append(id)
    return found


def _encrypted(clients: AwsClients) -> Iterator[tuple[str, str]]:
    for service, call, answer, name in _CALLS:
        for page in clients.client(service).get_paginator(call).paginate():
            for one in page[answer]:
                if key := one.get("KmsKeyId") or one.get("kmsKeyId"):
                    yield _key_id(clients, key), str(one[name])


def _key_id(clients: AwsClients, key: str) -> str:
    """Return the id of a key that is given by its id, ARN, alias or alias's ARN."""
    if "alias/" in key:
        return str(clients.client("kms").describe_key(KeyId=key)["KeyMetadata"]["KeyId"])
    return key.rpartition("/")[2]
