"""What RDS refuses of a database for Slurm's accounting, told before anything is deployed."""

import re

from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.slurm import EngineFacts, slurm_database_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.file_systems import check_choice
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import check_number
from llm_fleet.spec.slurm_database import SlurmDatabaseSpec, major_of

_AURORA = re.compile(r"mysql_aurora\.(\d+)\.(\d+)\.(\d+)")
_CLASS = re.compile(r"db(\.[a-z0-9-]+){2,3}")


def check_slurm_database(spec: SlurmDatabaseSpec) -> list[Problem]:
    """Return everything that RDS would refuse of `spec`, by attribute names."""
    facts = slurm_database_facts()
    problems = check_choice(
        spec.engine,
        tuple(facts.engines),
        code=Code.DATABASE_ENGINE,
        name="engine",
        what="slurmdbd speaks MySQL's protocol, and llm-fleet makes no database",
    )
    engine = facts.engines.get(spec.engine)
    if engine is not None:
        problems += [*_check_version(spec, engine), *_check_kind(spec), *_check_backups(spec, engine)]
    return [
        *problems,
        *_check_user(spec.user_name),
        *check_fields(spec),
        *_check_window(spec.backup_window, "backup_window", _DAILY, "02:00-03:00"),
        *_check_window(spec.maintenance_window, "maintenance_window", _WEEKLY, "sun:03:00-sun:04:00"),
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


def _check_version(spec: SlurmDatabaseSpec, engine: EngineFacts) -> list[Problem]:
    version = spec.engine_version
    if version is None or is_unresolved(version):
        return []
    major = major_of(version)
    if major is not None and (major in engine.families or spec.parameter_group_family is not None):
        return []
    return [
        Problem(
            code=Code.DATABASE_ENGINE,
            path=("engine_version",),
            value=version,
            message=f"{version} is no version of {spec.engine} that llm-fleet knows",
            allowed=", ".join(f"{known}.…" for known in engine.families),
            remedy=f"leave it out for {engine.default}, or name the `parameter_group_family` of a newer one",
        )
    ]


def _check_kind(spec: SlurmDatabaseSpec) -> list[Problem]:
    """Return what belongs to the other kind of database, and what is wrong with this kind's own size."""
    others = ("instance_class", "storage_gib") if spec.serverless else ("min_capacity", "max_capacity")
    foreign = [
        Problem(
            code=_SETTING,
            path=(name,),
            value=getattr(spec, name),
            message=f"{spec.engine} has no {_WORDS[name]} to choose",
            remedy="leave it out: capacity follows the load, and storage grows by itself"
            if spec.serverless
            else "leave it out, or choose an instance class",
        )
        for name in others
        if getattr(spec, name) is not None
    ]
    return [*foreign, *(_check_capacity(spec) if spec.serverless else _check_instance(spec))]


def _check_capacity(spec: SlurmDatabaseSpec) -> list[Problem]:
    least, most = spec.effective_capacity
    lowest, highest = slurm_database_facts().capacity_units
    problems: list[Problem] = []
    for name in ("min_capacity", "max_capacity"):
        value = getattr(spec, name)
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
    return problems or _check_pause(spec)


def _is_capacity(value: object, least: float, most: float) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return least <= value <= most and value % slurm_database_facts().capacity_step == 0


def _check_pause(spec: SlurmDatabaseSpec) -> list[Problem]:
    """Return a problem when a version that is told cannot pause and is asked to."""
    found = _AURORA.search(spec.engine_version or "")
    first = slurm_database_facts().pauses_from_aurora
    if spec.min_capacity != 0 or found is None or tuple(map(int, found.groups())) >= first:
        return []
    return [
        Problem(
            code=_SETTING,
            path=("min_capacity",),
            value=spec.min_capacity,
            message=f"Aurora MySQL {'.'.join(found.groups())} cannot pause",
            allowed="0.5 or more; 0 from version {}.{:02}.{} on".format(*first),
            remedy="write 0.5, or take a later version",
        )
    ]


def _check_instance(spec: SlurmDatabaseSpec) -> list[Problem]:
    least, most = slurm_database_facts().storage_gib
    problems = check_number(
        spec.storage_gib, Limit(minimum=least, maximum=most), _SETTING, "storage_gib", what="the storage"
    )
    chosen = spec.instance_class
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


def _check_backups(spec: SlurmDatabaseSpec, engine: EngineFacts) -> list[Problem]:
    least, most = engine.backup_days
    limit = Limit(minimum=least, maximum=most)
    days = spec.backup_retention_days
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
