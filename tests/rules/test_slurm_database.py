"""Rules of RDS databases for Slurm accounting."""

from typing import Any

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.slurm_database import check_slurm_database, check_subnets
from llm_fleet.spec.slurm_database import DatabaseEngine, SlurmDatabaseSpec


def replace(spec: SlurmDatabaseSpec, **changes: Any) -> SlurmDatabaseSpec:
    return SlurmDatabaseSpec(**{**{name: getattr(spec, name) for name in spec.model_fields_set}, **changes})


AURORA = SlurmDatabaseSpec()
MARIADB = SlurmDatabaseSpec(engine=DatabaseEngine.MARIADB)


@pytest.mark.parametrize(
    "settings",
    [
        AURORA,
        MARIADB,
        SlurmDatabaseSpec(engine="mysql", instance_class="db.m7g.large", storage_gib=100, backup_retention_days=0),
        replace(AURORA, min_capacity=0, max_capacity=1),
        replace(AURORA, min_capacity=8.5, max_capacity=256),
        replace(AURORA, min_capacity=16),
        replace(AURORA, engine_version="8.4.mysql_aurora.8.4.8"),
        replace(MARIADB, engine_version="12.3.2", parameter_group_family="mariadb12.3"),
        replace(AURORA, backup_window="23:30-00:30", maintenance_window="sun:03:00-sun:04:00"),
        replace(AURORA, user_name="${Token[TOKEN.3]}", engine_version="${Token[TOKEN.4]}", parameter_group_family="x"),
    ],
)
def test_valid_databases_pass(settings: SlurmDatabaseSpec) -> None:
    assert check_slurm_database(settings) == []


@pytest.mark.parametrize(
    ("settings", "code", "path"),
    [
        (replace(AURORA, engine="postgres"), Code.DATABASE_ENGINE, "engine"),
        (replace(AURORA, engine_version="5.7.mysql_aurora.2.12.5"), Code.DATABASE_ENGINE, "engine_version"),
        (replace(MARIADB, engine_version="8.0.42"), Code.DATABASE_ENGINE, "engine_version"),
        (replace(AURORA, engine_version="newest"), Code.DATABASE_ENGINE, "engine_version"),
        (replace(AURORA, min_capacity=0.3), Code.DATABASE_SETTING, "min_capacity"),
        (replace(AURORA, min_capacity=-1), Code.DATABASE_SETTING, "min_capacity"),
        (replace(AURORA, max_capacity=0.5), Code.DATABASE_SETTING, "max_capacity"),
        (replace(AURORA, max_capacity=257), Code.DATABASE_SETTING, "max_capacity"),
        (replace(AURORA, min_capacity=8, max_capacity=4), Code.DATABASE_SETTING, "max_capacity"),
        (replace(AURORA, storage_gib=20), Code.DATABASE_SETTING, "storage_gib"),
        (replace(AURORA, instance_class="db.t4g.medium"), Code.DATABASE_SETTING, "instance_class"),
        (replace(AURORA, backup_retention_days=0), Code.DATABASE_SETTING, "backup_retention_days"),
        (replace(MARIADB, backup_retention_days=36), Code.DATABASE_SETTING, "backup_retention_days"),
        (replace(MARIADB, min_capacity=1), Code.DATABASE_SETTING, "min_capacity"),
        (replace(MARIADB, storage_gib=19), Code.DATABASE_SETTING, "storage_gib"),
        (replace(MARIADB, instance_class="t4g.medium"), Code.DATABASE_SETTING, "instance_class"),
        (replace(AURORA, port=1149), Code.DATABASE_SETTING, "port"),
        (replace(AURORA, user_name="1slurm"), Code.ACCOUNTING_USER, "user_name"),
        (replace(AURORA, user_name="s" * 17), Code.ACCOUNTING_USER, "user_name"),
        (replace(AURORA, user_name="rdsadmin"), Code.ACCOUNTING_USER, "user_name"),
        (replace(AURORA, backup_window="24:00-01:00"), Code.DATABASE_SETTING, "backup_window"),
        (replace(AURORA, maintenance_window="7:03:00"), Code.DATABASE_SETTING, "maintenance_window"),
    ],
)
def test_invalid_databases_are_reported(settings: SlurmDatabaseSpec, code: Code, path: str) -> None:
    (problem,) = check_slurm_database(settings)
    assert (problem.code, problem.path) == (code, (path,))
    assert problem.value == getattr(settings, path)


@pytest.mark.parametrize(("version", "pauses"), [("3.07.1", False), ("3.08.0", True), ("3.10.4", True)])
def test_only_newer_versions_of_aurora_can_pause(version: str, pauses: bool) -> None:
    found = check_slurm_database(replace(AURORA, min_capacity=0, engine_version=f"8.0.mysql_aurora.{version}"))
    assert [problem.path for problem in found] == ([] if pauses else [("min_capacity",)])


@pytest.mark.parametrize(("zones", "codes"), [(0, ["LF699"]), (1, ["LF699"]), (2, []), (3, [])])
def test_subnets_in_two_azs_are_required(zones: int, codes: list[str]) -> None:
    assert [problem.code.value for problem in check_subnets(zones, remedy="name another")] == codes


@pytest.mark.parametrize(
    ("change", "capacity"),
    [({}, (0.5, 4)), ({"min_capacity": 8}, (8, 8)), ({"min_capacity": 0, "max_capacity": 1}, (0, 1))],
)
def test_default_capacities_are_derived(change: dict[str, Any], capacity: tuple[float, float]) -> None:
    assert replace(AURORA, **change).effective_capacity == capacity


def test_the_parameter_group_family_follows_the_version() -> None:
    assert replace(AURORA, engine_version="${Token[TOKEN.4]}").effective_family == "aurora-mysql8.0"
    assert AURORA.effective_family == "aurora-mysql8.0"
    assert replace(MARIADB, engine_version="10.11.16").effective_family == "mariadb10.11"
    assert (
        replace(MARIADB, engine_version="13.0.1", parameter_group_family="mariadb13.0").effective_family
        == "mariadb13.0"
    )
