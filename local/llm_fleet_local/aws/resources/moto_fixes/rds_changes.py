"""RDS: two changes that moto loses, and one that RDS rejects.

moto loses a changed subnet group, ignores changes of a cluster's log exports, and accepts less storage.

Source: model botocore rds ModifyDBSubnetGroup
Source: model botocore rds ModifyDBCluster
"""

from typing import Any

from moto.rds.exceptions import InvalidParameterCombination
from moto.rds.models import RDSBackend

_INSTALLED = "_llm_fleet_changes"
_EXPORTS = "cloudwatch_logs_export_configuration"


def install() -> None:
    """Keep changed subnet groups, change the log exports of clusters, and check storage."""
    if hasattr(RDSBackend, _INSTALLED):
        return
    setattr(RDSBackend, _INSTALLED, True)
    RDSBackend.modify_db_subnet_group = _kept
    RDSBackend.modify_db_cluster = _with_logs(RDSBackend.modify_db_cluster)
    RDSBackend.modify_db_instance = _with_storage(RDSBackend.modify_db_instance)


def _kept(self: Any, subnet_name: str, description: str | None, subnets: list[Any]) -> Any:
    group = self.describe_db_subnet_groups(subnet_name)[0]
    group._subnets = subnets
    group.description = description or group.description
    return group


def _with_logs(as_moto_does: Any) -> Any:
    def modify_db_cluster(self: Any, kwargs: dict[str, Any]) -> Any:
        wanted: dict[str, list[str]] = kwargs.pop(_EXPORTS, None) or {}
        cluster = self.clusters[kwargs["db_cluster_identifier"]]
        ended = wanted.get("DisableLogTypes", [])
        kept = [name for name in cluster.enabled_cloudwatch_logs_exports if name not in ended]
        cluster.enabled_cloudwatch_logs_exports = [*kept, *wanted.get("EnableLogTypes", [])]
        return as_moto_does(self, kwargs)

    return modify_db_cluster


def _with_storage(as_moto_does: Any) -> Any:
    """Reject less storage, and an increase of less than 10 percent.

    Source: document https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/USER_PIOPS.ModifyingExisting.html (2022)
    Source: assumption rds-refuses-less-than-a-tenth
    Source: assumption service-error-texts
    """

    def modify_db_instance(self: Any, db_instance_identifier: str, db_kwargs: dict[str, Any]) -> Any:
        before = self.describe_db_instances(db_instance_identifier)[0].allocated_storage
        after = int(db_kwargs.get("allocated_storage") or before)
        if after != before and after * 10 < before * 11:
            raise InvalidParameterCombination(f"Invalid storage size: from {before} GiB to {after} GiB")
        return as_moto_does(self, db_instance_identifier, db_kwargs)

    return modify_db_instance
