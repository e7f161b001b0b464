"""The alarms of file systems and databases."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from llm_fleet.catalog.monitoring import alarm_thresholds, storage_facts
from llm_fleet.monitoring.alarm_plans import steady
from llm_fleet.notifications.metric_alarms import AlarmPlan, MetricMath, ServiceMetric
from llm_fleet.rules.problem import is_unresolved
from llm_fleet.spec.monitoring import ClusterAlarmThresholds

_ELASTIC = "INTELLIGENT_TIERING"


@runtime_checkable
class WatchedFileSystem(Protocol):
    """An FSx file system of this app, or an imported one."""

    @property
    def file_system_id(self) -> str:
        """The id, `fs-…`."""
        ...


@runtime_checkable
class WatchedDatabase(Protocol):
    """An accounting database of this app: `SlurmDatabase`. An imported one has no id."""

    def metric(self, name: str) -> Any:
        """Return the RDS metric `name`."""
        ...


def capacity_of(file_system: Any) -> tuple[bool, float | None]:
    """Return whether a Lustre file system is elastic, and its GiB; `None` if unknown, as for an imported one.

    Only a file system of this app has an L1 construct with both.
    """
    resource = getattr(file_system, "resource", None)
    if resource is None:
        return False, None
    capacity = getattr(resource, "storage_capacity", None)
    known = capacity if capacity is not None and not is_unresolved(capacity) else None
    return getattr(resource, "storage_type", None) == _ELASTIC, known


def dimensions_of(database: WatchedDatabase) -> Mapping[str, str]:
    """Return the dimensions of the metrics of a database."""
    return dict(database.metric("DatabaseConnections").dimensions or {})


_GIB = 1024**3
_MINUTES = 15
_MINUTE = 60


def lustre_plan(id: str, file_system: str, capacity_gib: float | None, limits: ClusterAlarmThresholds) -> AlarmPlan:
    """Return the alarm on the fullest storage target (OST) of a Lustre file system; its id may be a token.

    `capacity_gib`: of all OSTs together; `None` if unknown, then the alarm is on free bytes.
    """
    percent = limits.figure("file_system_percent")
    facts = storage_facts()
    if capacity_gib is None:
        gib = facts.lustre_free_gib_of_a_target
        return steady(
            id,
            _of_file_system(facts.lustre_free, file_system, "Minimum", "free on the fullest OST"),
            threshold=gib * _GIB,
            below=True,
            minutes=_MINUTES,
            meaning=_lustre_meaning(f"has less than {gib} GiB free on one of its OSTs"),
        )
    # FSx publishes one value for each OST every minute: SampleCount is their number, Minimum that of the fullest.
    free = MetricMath(
        expression=f"100 - 100 * free * targets / {capacity_gib * _GIB:.0f}",
        metrics={
            "free": _of_file_system(facts.lustre_free, file_system, "Minimum", "free"),
            "targets": _of_file_system(facts.lustre_free, file_system, "SampleCount", "targets"),
        },
        period_seconds=_MINUTE,
        label="fullest OST (%)",
    )
    return AlarmPlan(
        id=id,
        measure=free,
        threshold=percent,
        periods=_MINUTES,
        meaning=_lustre_meaning(f"is {percent:g} % full on one of its OSTs"),
    )


def open_zfs_plan(id: str, file_system: str, limits: ClusterAlarmThresholds) -> AlarmPlan:
    """Return the alarm on the capacity of an OpenZFS file system; its id may be a token."""
    percent = limits.figure("file_system_percent")
    facts = storage_facts()
    used = MetricMath(
        expression="100 * used / capacity",
        metrics={
            "used": _of_file_system(facts.openzfs_used, file_system, "Average", "used"),
            "capacity": _of_file_system(facts.openzfs_capacity, file_system, "Average", "capacity"),
        },
        period_seconds=_MINUTE,
        label="used (%)",
    ).over(seconds=300)
    return steady(
        id,
        used,
        threshold=percent,
        minutes=_MINUTES,
        meaning=f"The file system of the home directories is {percent:g} % full: at 100 %, users cannot write, and "
        "logins can fail. Raise its `size`, which takes minutes without downtime, and find out whose files grow.",
    )


def database_plans(prefix: str, dimensions: Mapping[str, str]) -> tuple[AlarmPlan, ...]:
    """Return the alarms on Slurm's accounting database by its `dimensions` in RDS; Aurora's storage grows by itself."""
    facts = storage_facts()
    most = alarm_thresholds()["database_connections"]

    def metric(name: str, statistic: str) -> ServiceMetric:
        return ServiceMetric(
            namespace=facts.database_namespace,
            name=name,
            dimensions=MappingProxyType(dict(dimensions)),
            statistic=statistic,
            period_seconds=300,
            label=name,
        )

    connections = steady(
        f"{prefix}Connections",
        metric(facts.database_connections, "Maximum"),
        threshold=most,
        minutes=_MINUTES,
        meaning=f"The accounting database has more than {most:g} connections, although each cluster needs only a few: "
        "soon slurmdbd cannot connect, and Slurm records nothing. Find them with `SHOW PROCESSLIST`, and restart the "
        "slurmdbd that leaks connections.",
    )
    if "DBInstanceIdentifier" not in dimensions:
        return (connections,)
    space = steady(
        f"{prefix}Space",
        metric(facts.database_free_of_instance, "Minimum"),
        threshold=facts.database_free_gib * _GIB,
        below=True,
        minutes=_MINUTES,
        meaning=f"The accounting database has less than {facts.database_free_gib} GiB free: if full, it stops, and "
        "slurmctld keeps records in memory until it restarts. Raise its storage, or let slurmdbd purge old records.",
    )
    return (space, connections)


def _lustre_meaning(what: str) -> str:
    return (
        f"The Lustre file system {what}: writes to it fail with `No space left on device`, even if others have space. "
        "`lfs df -h` on a node shows which; delete old checkpoints, release files that are in S3 (`lfs hsm_release`), "
        "or raise its `size`."
    )


def _of_file_system(name: str, file_system: str, statistic: str, label: str) -> ServiceMetric:
    return ServiceMetric(
        namespace=storage_facts().fsx_namespace,
        name=name,
        dimensions=MappingProxyType({"FileSystemId": file_system}),
        statistic=statistic,
        period_seconds=_MINUTE,
        label=label,
    )
