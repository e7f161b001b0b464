"""No checker finds anything in the templates of databases for accounting."""

import aws_cdk as cdk
import pytest

from llm_fleet import FleetKey, FleetNetwork, NetworkSpec, SlurmDatabase, SlurmDatabaseSpec
from tests.clean import all_findings


@pytest.fixture
def everything(stack: cdk.Stack) -> cdk.Stack:
    """A database of each engine, with its network."""
    key = FleetKey(stack, "Key")
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]), encryption_key=key)
    SlurmDatabase(stack, "Aurora", SlurmDatabaseSpec(encryption_key=key), network=network)
    SlurmDatabase(stack, "Mysql", SlurmDatabaseSpec(encryption_key=key, engine="mysql"), network=network)
    SlurmDatabase(
        stack, "Mariadb", SlurmDatabaseSpec(encryption_key=key, engine="mariadb", standby=True), network=network
    )
    return stack


def test_no_checker_finds_anything(app: cdk.App, everything: cdk.Stack):
    assert all_findings(app) == []
