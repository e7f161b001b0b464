"""RDS: two changes that moto forgets. A changed subnet group is gone for it, and a cluster's logs stay as they were.

Source: model botocore rds ModifyDBSubnetGroup
Source: model botocore rds ModifyDBCluster
"""

from typing import Any

from moto.rds.models import RDSBackend

_INSTALLED = "_llm_fleet_changes"
_EXPORTS = "cloudwatch_logs_export_configuration"


def install() -> None:
    """Keep changed subnet groups, and change the logs that clusters send."""
    if hasattr(RDSBackend, _INSTALLED):
        return
    setattr(RDSBackend, _INSTALLED, True)
    RDSBackend.modify_db_subnet_group = _kept
    RDSBackend.modify_db_cluster = _with_logs(RDSBackend.modify_db_cluster)


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
