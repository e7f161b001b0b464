"""A value for any key of ParallelCluster's schema that says something: none is the default, or the plain file's own."""

from typing import Any

from llm_fleet.catalog.parallelcluster_schema import SchemaKey

_BY_NAME: dict[str, Any] = {
    "Region": "eu-west-1",
    "Os": "ubuntu2404",
    "Scheduler": "plugin",
    "InstanceType": "c5.9xlarge",
    "MountDir": "/elsewhere",
    "Name": "other",
    "MaxCount": 5,
    "MinCount": 1,
    "SubnetId": "subnet-0123456789abcdef9",
    "SubnetIds": "subnet-0123456789abcdef9",
    "ScalingStrategy": "best-effort",
    "SharedStorageType": "Efs",
    "QueueUpdateStrategy": "TERMINATE",
    "CapacityType": "SPOT",
    "RetentionInDays": 90,
    "ScaledownIdletime": 30,
    "GracetimePeriod": 60,
    "Port": 8444,
    "Count": 2,
    "StorageType": "Efs",
}
_FALSE_SAYS = {"Efa/Enabled", "Imds/Secured"}


def value_of(key: SchemaKey) -> Any:
    """Return the value."""
    if key.name in _BY_NAME:
        return _BY_NAME[key.name]
    if key.kind == "bool":
        return not any(key.place.endswith(name) for name in _FALSE_SAYS)
    if key.kind in ("int", "float"):
        return key.range.minimum or 2 if key.range else 2
    if key.kind in ("map", "any"):
        return {"Key": "value"}
    return key.one_of[0] if key.one_of else "text"
