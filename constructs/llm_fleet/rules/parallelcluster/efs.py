"""An EFS file system: options that go with each other or do not."""

from collections.abc import Mapping
from typing import Any

from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.read_settings import read_settings
from llm_fleet.rules.parallelcluster.terms import StorageKind
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.parallelcluster import SharedStorage


def check_efs(storage: SharedStorage) -> list[Problem]:
    """Check an EFS's options (EfsMountOptionsValidator, EfsAccessPointOptionsValidator, KmsKeyIdEncryptedValidator)."""
    if storage.kind != StorageKind.EFS or is_unresolved(storage.section):
        return []
    settings = read_settings(storage)
    return [
        *_check_mount(settings, exists=storage.existing_id is not None),
        *(_check_new(settings) if storage.existing_id is None else []),
    ]


def _check_mount(settings: Mapping[str, Any], *, exists: bool) -> list[Problem]:
    in_transit = settings.get("EncryptionInTransit")
    problems: list[Problem] = []
    if settings.get("IamAuthorization") is True and in_transit in (None, False):
        problems.append(
            _problem(
                "IamAuthorization",
                True,
                "EFS asks who mounts it only over an encrypted connection",
                "write EncryptionInTransit: true",
            )
        )
    point = settings.get("AccessPointId")
    if point is not None and in_transit in (None, False):
        problems.append(
            _problem(
                "AccessPointId",
                point,
                "an access point is mounted only over an encrypted connection",
                "write EncryptionInTransit: true",
            )
        )
    if point is not None and not exists:
        problems.append(
            _problem("AccessPointId", point, "an access point is of an EFS that exists", "give the id of its EFS")
        )
    return problems


def _check_new(settings: Mapping[str, Any]) -> list[Problem]:
    """ParallelCluster's EFS, unlike its EBS volumes, is not encrypted unless told."""
    key = settings.get("KmsKeyId")
    if key is None or settings.get("Encrypted") not in (None, False):
        return []
    return [_problem("KmsKeyId", key, "there is a key, and the EFS is not to be encrypted", "add Encrypted: true")]


def _problem(key: str, value: object, message: str, remedy: str) -> Problem:
    return Problem(code=Code.PC_EFS, message=message, remedy=remedy, path=("settings", key), value=value)
