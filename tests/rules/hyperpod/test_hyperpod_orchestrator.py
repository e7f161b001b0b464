from typing import Any

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod_cluster import check_cluster
from llm_fleet.rules.terms import SlurmConfigStrategy
from tests.rules.hyperpod.findings import only
from tests.rules.hyperpod.shapes import Database, cluster


@pytest.mark.parametrize("strategy", list(SlurmConfigStrategy))
def test_strategy_with_continuous(strategy: SlurmConfigStrategy):
    found = check_cluster(cluster(slurm_config_strategy=strategy))
    problem = only(found, Code.STRATEGY_WITH_CONTINUOUS, "slurm_config_strategy")
    assert problem.value == strategy.value
    assert problem.remedy.startswith("drop the strategy")


def test_no_strategy_without_continuous():
    problem = only(check_cluster(cluster(node_provisioning_mode=None)), Code.STRATEGY_MISSING, "slurm_config_strategy")
    assert problem.allowed == "Overwrite, Managed, Merge"


def test_accounting_database_without_continuous():
    found = check_cluster(
        cluster(
            node_provisioning_mode=None,
            slurm_config_strategy=SlurmConfigStrategy.MERGE,
            accounting_database=Database(),
        )
    )
    only(found, Code.ACCOUNTING_NOT_CONTINUOUS, "accounting_database")


@pytest.mark.parametrize(
    ("field", "value", "in_remedy"),
    [
        ("endpoint", "mysql://db:3306", "host name alone"),
        ("endpoint", "", "host name alone"),
        ("port", 0, "3306"),
        ("port", 65536, "3306"),
        ("database_name", "slurm-db", "letters, digits, $ and _"),
        ("database_name", "d" * 65, "letters, digits, $ and _"),
        ("secret_arn", "slurm-secret-with-a-long-name", "whole ARN"),
    ],
)
def test_fields_of_the_accounting_database(field: str, value: Any, in_remedy: str):
    found = check_cluster(cluster(accounting_database=Database(**{field: value})))
    problem = only(found, Code.ACCOUNTING_DATABASE, "accounting_database", field)
    assert problem.value == value
    assert in_remedy in problem.remedy
