"""Fleet file and construct report errors for the same databases, each with its own paths."""

from typing import Any

import aws_cdk as cdk
import pytest

from llm_fleet import FleetNetwork, NetworkSpec, SlurmDatabase, SlurmDatabaseSpec
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.problem import FleetError

FLEET = "fleet: records\nregion: us-west-2\nnetwork: {{az: usw2-az4}}\nstorage: {{slurm_database: {{{}}}}}\n"


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ("min_capacity: 0.3", {"min_capacity": 0.3}),
        ("min_capacity: 8, max_capacity: 4", {"min_capacity": 8, "max_capacity": 4}),
        ("size: 100 GiB", {"storage_gib": 100}),
        ("engine: mysql, max_capacity: 4", {"engine": "mysql", "max_capacity": 4}),
        ("engine: mariadb, instance: t4g.medium", {"engine": "mariadb", "instance_class": "t4g.medium"}),
        ('version: "5.7", user: 1x', {"engine_version": "5.7", "user_name": "1x"}),
        ("backups: 36 days, port: 80", {"backup_retention_days": 36, "port": 80}),
        ("backup_window: never, maintenance: sunday", {"backup_window": "never", "maintenance_window": "sunday"}),
    ],
)
def test_fleet_file_and_construct_reject_the_same_databases(
    stack: cdk.Stack, written: str, arguments: dict[str, Any]
) -> None:
    with pytest.raises(FleetError) as by_file:
        parse_fleet(FLEET.format(written))
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    with pytest.raises(FleetError) as by_construct:
        SlurmDatabase(stack, "Database", SlurmDatabaseSpec(**arguments), network=network)
    of_construct = {(p.code, SlurmDatabaseSpec.key_of(str(p.path[0]))) for p in by_construct.value.problems}
    assert {(p.code, p.path[-1]) for p in by_file.value.problems} == of_construct
