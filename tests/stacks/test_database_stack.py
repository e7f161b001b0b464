"""The stack of a fleet's database: its template, its findings, and its dependencies."""

import json
import os
from pathlib import Path

import aws_cdk as cdk
import pytest

from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet_stacks.fleet_stacks import FleetStacks
from tests.clean import nag_findings

GOLDEN = Path(__file__).parent / "golden_database" / "records-database.json"
FLEET = """
fleet: records
region: us-west-2
network: {az: usw2-az4}
storage: {slurm_database: {}}
clusters:
  train:
    kind: hyperpod
    accounting: slurm_database
    lifecycle: none
    groups:
      controller: {role: controller, type: ml.m5.xlarge, count: 1}
      workers: {role: compute, type: ml.trn1.32xlarge, count: 1, partition: trn1}
  queue:
    kind: parallelcluster
    accounting: slurm_database
    head: {type: c5.4xlarge}
    queues: {trn1: {type: trn1.32xlarge, max: 4}}
"""


@pytest.fixture
def stacks(app: cdk.App) -> FleetStacks:
    return FleetStacks.make(app, parse_fleet(FLEET), account="111122223333")


def test_the_golden_template_is_unchanged(app: cdk.App, stacks: FleetStacks) -> None:
    text = json.dumps(app.synth().get_stack_by_name("records-database").template, indent=1) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
    assert GOLDEN.read_text() == text, "the template has changed: read the difference, then run `make golden`"


def test_it_depends_only_on_the_network_and_both_clusters_depend_on_it(stacks: FleetStacks, app: cdk.App) -> None:
    assert stacks.database is not None
    app.synth()
    assert stacks.database.dependencies == [stacks.network]
    assert all(stacks.database in cluster.dependencies for cluster in stacks.clusters.values())


def test_clusters_have_their_own_schemas(app: cdk.App, stacks: FleetStacks) -> None:
    made = app.synth()
    hyperpod, parallel = (made.get_stack_by_name(f"records-{name}").template for name in ("train", "queue"))
    (cluster,) = [one for one in hyperpod["Resources"].values() if one["Type"] == "AWS::SageMaker::Cluster"]
    (custom,) = [one for one in parallel["Resources"].values() if one["Type"] == "Custom::PclusterCluster"]
    database = cluster["Properties"]["Orchestrator"]["Slurm"]["AccountingDatabase"]
    settings = custom["Properties"]["ClusterConfiguration"]["Scheduling"]["SlurmSettings"]["Database"]
    assert database["Name"]["Fn::Join"][1][0] == "slurm_acct_db_"
    assert settings["DatabaseName"]["Fn::Join"][1][0].startswith("slurm_acct_db_queue_")
    assert database["SecretArn"] != settings["PasswordSecretArn"]  # one password in two secrets of different form
    assert "AWS::StackId" in json.dumps(settings["DatabaseName"])


def test_nag_finds_nothing(app: cdk.App, stacks: FleetStacks) -> None:
    """The other checkers look at the construct, in tests/accounting, and at every example."""
    assert stacks.database is not None
    assert nag_findings(app) == []


def test_an_existing_database_and_an_external_slurmdbd(app: cdk.App) -> None:
    secret = "arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf"
    text = FLEET.replace("storage: {slurm_database: {}}\n", "")
    hyperpod, parallel = text.split("  queue:")
    hyperpod = hyperpod.replace(
        "accounting: slurm_database", f"accounting: {{endpoint: db.example, secret: '{secret}'}}"
    )
    theirs = f"{{endpoint: db.example, port: 3307, user: acct, secret: '{secret}', database: acct}}"
    elsewhere = f"{{slurmdbd: dbd.example, munge_key: '{secret}', security_group: sg-0123456789abcdef0}}"
    one = parallel.replace("accounting: slurm_database", f"accounting: {theirs}")
    other = parallel.replace("accounting: slurm_database", f"accounting: {elsewhere}")
    made = FleetStacks.make(app, parse_fleet(f"{hyperpod}  queue:{one}  dbd:{other}"), account="111122223333")
    assert made.database is None
    assembly = app.synth()

    def slurm(name: str) -> dict[str, object]:
        resources = assembly.get_stack_by_name(f"records-{name}").template["Resources"].values()
        (custom,) = [one for one in resources if one["Type"] == "Custom::PclusterCluster"]
        return custom["Properties"]["ClusterConfiguration"]["Scheduling"]["SlurmSettings"]

    assert slurm("queue")["Database"] == {
        "Uri": "db.example:3307",
        "UserName": "acct",
        "PasswordSecretArn": secret,
        "DatabaseName": "acct",
    }
    assert slurm("dbd")["ExternalSlurmdbd"] == {"Host": "dbd.example"}
    assert slurm("dbd")["MungeKeySecretArn"] == secret
