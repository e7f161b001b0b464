"""What RDS refuses of a database for Slurm's accounting, told before anything is deployed."""

import re
from dataclasses import dataclass
from enum import StrEnum

from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.slurm import EngineFacts, slurm_database_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.file_systems import check_choice
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved

_VERSION = re.compile(r"(?P<major>\d+\.\d+)(\.[A-Za-z0-9_.-]+)?")
_AURORA = re.compile(r"mysql_aurora\.(\d+)\.(\d+)\.(\d+)")
_CLASS = re.compile(r"db(\.[a-z0-9-]+){2,3}")


class DatabaseEngine(StrEnum):
    """What slurmdbd can keep its records in, as RDS spells it."""

    AURORA_MYSQL = "aurora-mysql"
    """Aurora Serverless v2, MySQL 8.0: six copies in three AZs, capacity that follows the load."""
    MYSQL = "mysql"
    """One RDS instance with MySQL."""
    MARIADB = "mariadb"
    """One RDS instance with MariaDB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmDatabaseSettings:
    """What may be said of a database; the fleet file and the construct both fill this in."""

    engine: str = DatabaseEngine.AURORA_MYSQL
    """Default: Aurora, because accounting is idle between jobs and busy when thousands end, which its capacity follows,
    and because it survives the loss of an AZ."""
    engine_version: str | None = None
    """E.g. `8.0.mysql_aurora.3.10.4`, `8.4.8` or `11.4.10`. Default: one with long-term support. RDS moves to later
    minor ones by itself, in the maintenance window."""
    parameter_group_family: str | None = None
    """For a major version that llm-fleet does not know, e.g. `mysql9.7`. Default: that of the version."""
    min_capacity: float | None = None
    """Aurora capacity units, of about 2 GiB of memory, in steps of 0.5; 0 pauses when nobody is signed in, which is
    when no cluster is up. Default: 0.5."""
    max_capacity: float | None = None
    """Default: 4, as in AWS's own template for ParallelCluster."""
    instance_class: str | None = None
    """For MySQL and MariaDB. Default: `db.t4g.medium`, whose 4 GiB hold the 512 MiB of buffer pool below which slurmdbd
    complains. Aurora's is always `db.serverless`."""
    storage_gib: int | None = None
    """For MySQL and MariaDB; it grows to five times as much by itself. Default: 20. Aurora's grows by itself."""
    standby: bool = False
    """A second server in another AZ that takes over. Default: none: slurmctld keeps records back while slurmdbd has no
    database, and RDS starts a failed server anew."""
    user_name: str = "slurm"
    """Who slurmdbd signs in as: the owner of this server, since slurmdbd makes its schemas itself."""
    port: int = slurm_database_facts().port
    """Default: 3306."""
    backup_retention_days: int = 14
    """Days that automatic backups are kept. Default: 14, two working weeks in which a mistake is noticed."""
    backup_window: str | None = None
    """`HH:MM-HH:MM`, UTC. Default: RDS picks one."""
    maintenance_window: str | None = None
    """`ddd:HH:MM-ddd:HH:MM`, UTC, e.g. `sun:03:00-sun:04:00`. Default: RDS picks one."""

    @property
    def serverless(self) -> bool:
        """Whether its capacity follows the load."""
        return self.engine == DatabaseEngine.AURORA_MYSQL

    @property
    def effective_version(self) -> str:
        """The version to ask for."""
        return self.engine_version or slurm_database_facts().engines[self.engine].default

    @property
    def effective_family(self) -> str:
        """The parameter group family of that version; of the default one where only the deployment knows it."""
        facts = slurm_database_facts().engines[self.engine]
        known = facts.families.get(major_of(self.effective_version) or "")
        return self.parameter_group_family or known or facts.families[major_of(facts.default) or ""]

    @property
    def effective_capacity(self) -> tuple[float, float]:
        """Least and most capacity units."""
        least = 0.5 if self.min_capacity is None else self.min_capacity
        return least, max(4.0, least) if self.max_capacity is None else self.max_capacity


def major_of(version: str) -> str | None:
    """Return the major version of `version`, e.g. `8.0`; `None` when it is none."""
    found = _VERSION.fullmatch(version)
    return found["major"] if found else None


def check_slurm_database(settings: SlurmDatabaseSettings) -> list[Problem]:
    """Return everything that RDS would refuse of `settings`, by the attribute names of `SlurmDatabaseSettings`."""
    facts = slurm_database_facts()
    problems = check_choice(
        settings.engine,
        tuple(facts.engines),
        code=Code.DATABASE_ENGINE,
        name="engine",
        what="slurmdbd speaks MySQL's protocol, and llm-fleet makes no database",
    )
    engine = facts.engines.get(settings.engine)
    low, high = facts.ports
    if engine is not None:
        problems += [*_check_version(settings, engine), *_check_kind(settings), *_check_backups(settings, engine)]
    return [
        *problems,
        *_check_user(settings.user_name),
        *check_number(settings.port, Limit(minimum=low, maximum=high), _SETTING, "port", what="the port"),
        *_check_window(settings.backup_window, "backup_window", _DAILY, "02:00-03:00"),
        *_check_window(settings.maintenance_window, "maintenance_window", _WEEKLY, "sun:03:00-sun:04:00"),
    ]


def check_subnets(zones: int, *, remedy: str) -> list[Problem]:
    """Return a problem unless there are subnets in as many AZs as a DB subnet group must have."""
    least = slurm_database_facts().least_zones
    if zones >= least:
        return []
    return [
        Problem(
            code=Code.DATABASE_SUBNETS,
            path=("subnets",),
            message=f"RDS makes no database without subnets in {least} Availability Zones, however many it uses",
            allowed=f"{least} subnets or more, in different AZs",
            remedy=remedy,
        )
    ]


_SETTING = Code.DATABASE_SETTING
_WORDS = {
    "instance_class": "instance class",
    "storage_gib": "size of storage",
    "min_capacity": "least capacity",
    "max_capacity": "greatest capacity",
}
_TIME = "([01]\\d|2[0-3]):[0-5]\\d"
_DAY = "(mon|tue|wed|thu|fri|sat|sun)"
_DAILY = re.compile(f"{_TIME}-{_TIME}")
_WEEKLY = re.compile(f"{_DAY}:{_TIME}-{_DAY}:{_TIME}")


def _check_version(settings: SlurmDatabaseSettings, engine: EngineFacts) -> list[Problem]:
    version = settings.engine_version
    if version is None or is_unresolved(version):
        return []
    major = major_of(version)
    if major is not None and (major in engine.families or settings.parameter_group_family is not None):
        return []
    return [
        Problem(
            code=Code.DATABASE_ENGINE,
            path=("engine_version",),
            value=version,
            message=f"{version} is no version of {settings.engine} that llm-fleet knows",
            allowed=", ".join(f"{known}.…" for known in engine.families),
            remedy=f"leave it out for {engine.default}, or name the `parameter_group_family` of a newer one",
        )
    ]


def _check_kind(settings: SlurmDatabaseSettings) -> list[Problem]:
    """Return what belongs to the other kind of database, and what is wrong with this kind's own size."""
    others = ("instance_class", "storage_gib") if settings.serverless else ("min_capacity", "max_capacity")
    foreign = [
        Problem(
            code=_SETTING,
            path=(name,),
            value=getattr(settings, name),
            message=f"{settings.engine} has no {_WORDS[name]} to choose",
            remedy="leave it out: capacity follows the load, and storage grows by itself"
            if settings.serverless
            else "leave it out, or choose an instance class",
        )
        for name in others
        if getattr(settings, name) is not None
    ]
    return [*foreign, *(_check_capacity(settings) if settings.serverless else _check_instance(settings))]


def _check_capacity(settings: SlurmDatabaseSettings) -> list[Problem]:
    least, most = settings.effective_capacity
    lowest, highest = slurm_database_facts().capacity_units
    problems: list[Problem] = []
    for name in ("min_capacity", "max_capacity"):
        value = getattr(settings, name)
        floor = lowest if name == "min_capacity" else 1
        if value is not None and not is_unresolved(value) and not _is_capacity(value, floor, highest):
            problems.append(
                Problem(
                    code=_SETTING,
                    path=(name,),
                    value=value,
                    message=f"{value} is no {_WORDS[name]} that Aurora Serverless v2 has",
                    allowed=f"{floor:g} to {highest:g} capacity units, in steps of 0.5",
                    remedy="leave it out, or take the nearest step",
                )
            )
    if not problems and not is_unresolved([least, most]) and least > most:
        problems.append(
            Problem(
                code=_SETTING,
                path=("max_capacity",),
                value=most,
                message=f"the database would have {most:g} capacity units at most and {least:g} at least",
                remedy=f"write {least:g} or more",
            )
        )
    return problems or _check_pause(settings)


def _is_capacity(value: object, least: float, most: float) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return least <= value <= most and value % slurm_database_facts().capacity_step == 0


def _check_pause(settings: SlurmDatabaseSettings) -> list[Problem]:
    """Return a problem when a version that is told cannot pause and is asked to."""
    found = _AURORA.search(settings.engine_version or "")
    first = slurm_database_facts().pauses_from_aurora
    if settings.min_capacity != 0 or found is None or tuple(map(int, found.groups())) >= first:
        return []
    return [
        Problem(
            code=_SETTING,
            path=("min_capacity",),
            value=settings.min_capacity,
            message=f"Aurora MySQL {'.'.join(found.groups())} cannot pause",
            allowed="0.5 or more; 0 from version {}.{:02}.{} on".format(*first),
            remedy="write 0.5, or take a later version",
        )
    ]


def _check_instance(settings: SlurmDatabaseSettings) -> list[Problem]:
    least, most = slurm_database_facts().storage_gib
    problems = check_number(
        settings.storage_gib, Limit(minimum=least, maximum=most), _SETTING, "storage_gib", what="the storage"
    )
    chosen = settings.instance_class
    if chosen is not None and not is_unresolved(chosen) and not _CLASS.fullmatch(chosen):
        problems.append(
            Problem(
                code=_SETTING,
                path=("instance_class",),
                value=chosen,
                message="this is no instance class of RDS",
                allowed="e.g. db.t4g.medium, db.m7g.large",
                remedy=f"write `db.{chosen.removeprefix('db.')}`" if "." in chosen else "leave it out",
            )
        )
    return problems


def _check_backups(settings: SlurmDatabaseSettings, engine: EngineFacts) -> list[Problem]:
    least, most = engine.backup_days
    limit = Limit(minimum=least, maximum=most)
    days = settings.backup_retention_days
    return check_number(days, limit, _SETTING, "backup_retention_days", what="the number of days of backups")


def _check_user(name: str) -> list[Problem]:
    facts = slurm_database_facts()
    reserved = name in facts.reserved_user_names
    if is_unresolved(name) or (re.fullmatch(facts.user_name, name) and not reserved):
        return []
    return [
        Problem(
            code=Code.ACCOUNTING_USER,
            path=("user_name",),
            value=name,
            message="RDS keeps this name for itself" if reserved else "RDS takes no user of this name",
            allowed="1 to 16 letters and digits, a letter first",
            remedy="leave it out for `slurm`",
        )
    ]


def _check_window(value: str | None, name: str, form: re.Pattern[str], example: str) -> list[Problem]:
    if value is None or is_unresolved(value) or form.fullmatch(value):
        return []
    return [
        Problem(
            code=_SETTING,
            path=(name,),
            value=value,
            message="RDS does not read this as a window of time",
            allowed=f"e.g. {example}, in UTC",
            remedy=f"write it as in `{example}`",
        )
    ]
