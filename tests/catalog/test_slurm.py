"""The catalog's facts of databases agree with RDS's API model, the CDK and ParallelCluster's package."""

import re
from typing import Any

import pytest
from aws_cdk import aws_rds as rds
from botocore.session import get_session

from llm_fleet.catalog.nodes import slurm_database_facts
from llm_fleet.spec.slurm_database import DatabaseEngine
from tools.synth_environment import ROOT

FACTS = slurm_database_facts()
PACKAGE = ROOT / ".tools/parallelcluster/lib/python3.11/site-packages/pcluster"
VERSIONS: dict[str, Any] = {
    "aurora-mysql": rds.AuroraMysqlEngineVersion,
    "mysql": rds.MysqlEngineVersion,
    "mariadb": rds.MariaDbEngineVersion,
}


@pytest.fixture(scope="module")
def model() -> Any:
    return get_session().get_service_model("rds")


def documentation(model: Any, operation: str, member: str) -> str:
    """Return the documentation of a member in RDS's model, without markup."""
    text = model.operation_model(operation).input_shape.members[member].documentation
    return " ".join(re.sub("<[^>]+>", " ", text).split())


def test_engines_are_those_of_the_spec() -> None:
    assert set(FACTS.engines) == {engine.value for engine in DatabaseEngine}


@pytest.mark.parametrize("engine", FACTS.engines)
def test_the_cdk_has_the_default_engine_version(engine: str) -> None:
    default = FACTS.engines[engine].default
    constant = "VER_" + default.removeprefix("8.0.mysql_aurora.").replace(".", "_")
    assert getattr(VERSIONS[engine], constant)
    assert ".".join(default.split(".")[:2]) in FACTS.engines[engine].families


@pytest.mark.parametrize(("engine", "name"), [("aurora-mysql", "Aurora MySQL"), ("mysql", "RDS for MySQL")])
def test_the_exported_logs_exist(model: Any, engine: str, name: str) -> None:
    text = documentation(model, "CreateDBCluster", "EnableCloudwatchLogsExports")
    (words,) = re.findall(rf"{name} - ([a-z |-]+)", text)
    assert set(FACTS.engines[engine].logs) <= set(words.split(" | "))


def test_backup_retention_is_that_of_the_api(model: Any) -> None:
    assert "Must be a value from 1 to 35" in documentation(model, "CreateDBCluster", "BackupRetentionPeriod")
    assert "Must be a value from 0 to 35" in documentation(model, "CreateDBInstance", "BackupRetentionPeriod")
    assert {engine.backup_days for engine in FACTS.engines.values()} == {(1, 35), (0, 35)}


def test_user_names_and_ports_are_those_of_the_api(model: Any) -> None:
    assert "1 to 16 letters or numbers" in documentation(model, "CreateDBCluster", "MasterUsername")
    assert "First character must be a letter" in documentation(model, "CreateDBCluster", "MasterUsername")
    assert "1150-65535" in documentation(model, "CreateDBCluster", "Port")
    assert (FACTS.user_name, FACTS.ports) == ("[A-Za-z][A-Za-z0-9]{0,15}", (1150, 65535))


def test_the_password_length_is_within_the_limit_of_rds(model: Any) -> None:
    assert "from 8 to 41 characters" in documentation(model, "CreateDBCluster", "MasterUserPassword")
    assert 8 <= FACTS.password_length <= 41


def test_storage_limits_are_those_of_the_api(model: Any) -> None:
    text = documentation(model, "CreateDBInstance", "AllocatedStorage")
    for name in ("MariaDB", "MySQL"):
        (least, most) = re.search(rf"RDS for {name} .*?gp3\): Must be an integer from (\d+) to (\d+)", text).groups()  # pyright: ignore[reportOptionalMemberAccess]
        assert FACTS.storage_gib == (int(least), int(most))


def test_capacity_limits_are_those_of_the_api(model: Any) -> None:
    members = model.shape_for("ServerlessV2ScalingConfiguration").members
    assert "smallest value that you can use is 0." in members["MinCapacity"].documentation
    assert "largest value that you can use is 256" in members["MaxCapacity"].documentation
    assert FACTS.capacity_units == (0, 256)


def test_limits_are_those_of_parallelcluster() -> None:
    schema = (PACKAGE / "schemas/cluster_schema.py").read_text()
    database = schema[schema.index("class DatabaseSchema") : schema.index("class ExternalSlurmdbdSchema")]
    assert 'r"^[0-9a-z_]+$"' in database
    assert "Length(min=1, max=64)" in database
    assert FACTS.database_name == "[0-9a-z_]{1,64}"
    assert "self.port = Resource.init_param(port, default=6819)" in (PACKAGE / "config/cluster_config.py").read_text()
    assert FACTS.slurmdbd_port == 6819
