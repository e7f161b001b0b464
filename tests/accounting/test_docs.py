"""The accounting page matches the catalog, and its examples run."""

import aws_cdk as cdk
from aws_cdk.assertions import Template

from llm_fleet.accounting.database_server import database_parameters
from llm_fleet.catalog.nodes import slurm_database_facts
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.spec.slurm_database import SlurmDatabaseSpec
from tests.pages import CONSTRUCTS, check_made, examples, run_examples

PAGE = CONSTRUCTS / "accounting.md"


def engines_table() -> str:
    rows = ["| engine | default version | major versions | logs in CloudWatch |", "|---|---|---|---|"]
    for name, engine in slurm_database_facts().engines.items():
        majors, logs = ", ".join(engine.families), ", ".join(engine.logs)
        rows.append(f"| `{name}` | `{engine.default}` | {majors} | {logs} |")
    return "\n".join(rows)


def test_the_generated_table_of_engines_is_up_to_date():
    check_made(PAGE, engines=engines_table())


def test_the_examples_run(stack: cdk.Stack):
    run_examples(PAGE.read_text(), stack)
    template = Template.from_stack(stack)
    template.resource_count_is("AWS::RDS::DBCluster", 1)
    template.resource_count_is("AWS::SageMaker::Cluster", 1)
    (server,) = template.find_resources("AWS::RDS::DBInstance")
    (cluster,) = template.find_resources("AWS::SageMaker::Cluster").values()
    assert server in cluster["DependsOn"], "its address resolves only after a DB instance exists"


def test_the_fleet_file_is_valid():
    (text,) = examples(PAGE.read_text(), "yaml")
    assert parse_fleet(text).storage.slurm_database is not None


def test_every_property_and_parameter_is_documented():
    page = PAGE.read_text()
    assert [name for name in SlurmDatabaseSpec.model_fields if f"`{name}`" not in page] == []
    parameters = set(database_parameters(SlurmDatabaseSpec()))
    audit = {"server_audit_logging", "server_audit_events"}  # described as connections that are logged to CloudWatch
    assert [name for name in parameters - audit if f"`{name}`" not in page] == []
