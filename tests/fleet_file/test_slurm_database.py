"""A database for accounting in the fleet file: its clusters, and the errors in it."""

import pytest

from llm_fleet.fleet_file.check_network import endpoint_features
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.terms import EndpointFeature
from tests.fleet_file.good_fleet import edited

ACCOUNTED = edited(
    "  buckets: {data: {}}\n",
    "  buckets: {data: {}}\n  slurm_database: {}\n",
    "    kind: hyperpod\n",
    "    kind: hyperpod\n    accounting: slurm_database\n",
    "clusters:\n",
    "clusters:\n  pc:\n    kind: parallelcluster\n    accounting: slurm_database\n    head: {type: c5.4xlarge}\n"
    "    queues: {trn1: {type: trn1.2xlarge, max: 4}}\n",
).replace("compute_cidr: 10.1.0.0/23", "compute_cidr: 10.1.0.0/20")
SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf"


def reported(*edits: str) -> list[tuple[str, str]]:
    """Return code and path of all errors in the valid file after these edits."""
    text = ACCOUNTED
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    try:
        parse_fleet(text)
    except FleetError as error:
        return [(problem.code.value, problem.where) for problem in error.problems]
    return []


def test_the_word_slurm_database_selects_the_database_of_the_fleet() -> None:
    fleet = parse_fleet(ACCOUNTED)
    for accounting in (fleet.hyperpod_clusters["ml"].accounting_database, fleet.parallelclusters["pc"].accounting):
        assert accounting is not None
        assert accounting.of_fleet
    assert endpoint_features(fleet) == {EndpointFeature.ACCOUNTING}


PC = "kind: parallelcluster\n    accounting: slurm_database"
HYPERPOD = "kind: hyperpod\n    accounting: slurm_database"


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        (
            ["  slurm_database: {}\n", ""],
            {("LF119", "clusters.ml.accounting"), ("LF119", "clusters.pc.accounting")},
        ),
        ([HYPERPOD, "kind: hyperpod\n    accounting: slurmdatabase"], {("LF114", "clusters.ml.accounting")}),
        ([PC, "kind: parallelcluster\n    accounting: slurm-database"], {("LF114", "clusters.pc.accounting")}),
        (
            ["slurm_database: {}", "slurm_database: {min_capacity: 0.2}"],
            {("LF698", "storage.slurm_database.min_capacity")},
        ),
        (["slurm_database: {}", "slurm_database: {size: 50 GiB}"], {("LF698", "storage.slurm_database.size")}),
        (["slurm_database: {}", 'slurm_database: {version: "5.7"}'], {("LF697", "storage.slurm_database.version")}),
        (["slurm_database: {}", "slurm_database: {engine: aurora}"], {("LF114", "storage.slurm_database.engine")}),
        (["slurm_database: {}", "slurm_database: {backups: 36 days}"], {("LF698", "storage.slurm_database.backups")}),
        (["slurm_database: {}", "slurm_database: {user: rdsadmin}"], {("LF691", "storage.slurm_database.user")}),
        (["slurm_database: {}", "slurm_database: {password: hunter2}"], {("LF110", "storage.slurm_database.password")}),
        (
            ["slurm_database: {}", "slurm_database: {subnets: [subnet-0123456789abcdef0]}"],
            {("LF699", "storage.slurm_database.subnets")},
        ),
        (
            ["slurm_database: {}", "slurm_database: {subnets: [sub-1]}"],
            {("LF116", "storage.slurm_database.subnets[0]")},
        ),
        (
            [
                "{az: usw2-az4, compute_cidr: 10.1.0.0/20}",
                "{vpc: {id: vpc-0123456789abcdef0, subnets: {usw2-az4: subnet-0123456789abcdef0}}}",
            ],
            {("LF699", "storage.slurm_database.subnets")},
        ),
        (
            [PC, f"kind: parallelcluster\n    accounting: {{endpoint: 'mysql://db', secret: '{SECRET}'}}"],
            {("LF690", "clusters.pc.accounting.endpoint")},
        ),
        (
            [PC, "kind: parallelcluster\n    accounting: {slurmdbd: dbd.example.com}"],
            {("LF696", "clusters.pc.accounting.munge_key")},
        ),
        (
            [PC, "kind: parallelcluster\n    accounting: {endpoint: db.example.com}"],
            {("LF692", "clusters.pc.accounting.secret")},
        ),
        (
            [PC, f"kind: parallelcluster\n    accounting: {{endpoint: db, secret: '{SECRET}', database: Slurm-DB}}"],
            {("LF694", "clusters.pc.accounting.database")},
        ),
        (
            [PC, f"kind: parallelcluster\n    accounting: {{slurmdbd: dbd, munge_key: '{SECRET}', port: 99999}}"],
            {("LF690", "clusters.pc.accounting.port")},
        ),
        (
            [
                PC,
                f"kind: parallelcluster\n    accounting: {{slurmdbd: dbd, munge_key: '{SECRET}', endpoint: db, "
                f"secret: '{SECRET}'}}",
            ],
            {("LF695", "clusters.pc.accounting.slurmdbd")},
        ),
        ([PC, "kind: parallelcluster\n    accounting: {Uri: 'db:3306'}"], {("LF110", "clusters.pc.accounting.Uri")}),
    ],
)
def test_an_error_is_reported_at_its_key(edits: list[str], expected: set[tuple[str, str]]) -> None:
    assert set(reported(*edits)) == expected


def test_a_database_requires_a_network() -> None:
    text = (
        "fleet: f\nregion: us-west-2\nnetwork: none\nstorage: {slurm_database: {}}\n"
        "clusters: {ml: {kind: hyperpod, groups: {c: {role: controller, type: ml.m5.xlarge, count: 1}}}}\n"
    )
    with pytest.raises(FleetError) as error:
        parse_fleet(text)
    assert [(p.code.value, p.where) for p in error.value.problems] == [("LF529", "storage.slurm_database")]
