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
    """A file system of FSx, made here or elsewhere."""

    @property
    def file_system_id(self) -> str:
        """The id, `fs-…`."""
        ...


@runtime_checkable
class WatchedDatabase(Protocol):
    """A database for accounting that was made here: `SlurmDatabase`. Of one that was imported, nobody told the id."""

    def metric(self, name: str) -> Any:
        """Return a metric of RDS."""
        ...


def capacity_of(file_system: Any) -> tuple[bool, float | None]:
    """Return whether a Lustre file system grows by itself, and its GiB; `None` where nobody tells, as of one imported.

    Only a file system that was made here has an L1 that says so.
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
    """Return the alarm on the fullest target (OST) of a Lustre file system by its id, which may be a token.

    `capacity_gib`: of all targets together; `None` where nobody knows, and the alarm is on bytes then.
    """
    percent = limits.figure("file_system_percent")
    facts = storage_facts()
    if capacity_gib is None:
        gib = facts.lustre_free_gib_of_a_target
        return steady(
            id,
            _of_file_system(facts.lustre_free, file_system, "Minimum", "free on the fullest target"),
            threshold=gib * _GIB,
            below=True,
            minutes=_MINUTES,
            meaning=_lustre_meaning(f"has less than {gib} GiB free on one of its targets"),
        )
    # FSx tells a value of each target every minute: their number is the sample count, and the least is the fullest's.
    free = MetricMath(
        expression=f"100 - 100 * free * targets / {capacity_gib * _GIB:.0f}",
        metrics={
            "free": _of_file_system(facts.lustre_free, file_system, "Minimum", "free"),
            "targets": _of_file_system(facts.lustre_free, file_system, "SampleCount", "targets"),
        },
        period_seconds=_MINUTE,
        label="fullest target (%)",
    )
    return AlarmPlan(
        id=id,
        measure=free,
        threshold=percent,
        periods=_MINUTES,
        meaning=_lustre_meaning(f"is {percent:g} % full on one of its targets"),
    )


def open_zfs_plan(id: str, file_system: str, limits: ClusterAlarmThresholds) -> AlarmPlan:
    """Return the alarm on the space of an OpenZFS file system by its id, which may be a token."""
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
        meaning=f"The file system of the home directories is {percent:g} % full: at 100 % nobody can write or log in "
        "well. Raise its `size`, which takes minutes and no downtime, and look whose files grow.",
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
        meaning=f"More than {most:g} clients are signed in to the accounting database, where each cluster needs a few: "
        "soon slurmdbd gets no connection, and Slurm records nothing. Look who they are with `SHOW PROCESSLIST`, and "
        "restart the slurmdbd that leaks.",
    )
    if "DBInstanceIdentifier" not in dimensions:
        return (connections,)
    space = steady(
        f"{prefix}Space",
        metric(facts.database_free_of_instance, "Minimum"),
        threshold=facts.database_free_gib * _GIB,
        below=True,
        minutes=_MINUTES,
        meaning=f"The accounting database has less than {facts.database_free_gib} GiB free: full, it stops, and "
        "slurmctld keeps records in memory until it restarts. Raise its storage, or let slurmdbd purge old records.",
    )
    return (space, connections)


def _lustre_meaning(what: str) -> str:
    return (
        f"The Lustre file system {what}: writes that land there fail with `No space left on device` while others have "
        "room. `lfs df -h` on a node shows which; delete old checkpoints, release what S3 has (`lfs hsm_release`), or "
        "raise its `size`."
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
