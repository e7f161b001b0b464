"""The catalog's network facts against what the CDK and the resource schemas know."""

import re

from aws_cdk import aws_ec2 as ec2
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

from llm_fleet.catalog.network import address_facts, endpoint_names, node_endpoints
from llm_fleet.rules.network_endpoints import interface_endpoints
from llm_fleet.rules.terms import EndpointFeature, InternetAccess

_SERVICE = re.compile(r"\$\{Token\[[^]]+\]\}\.\$\{Token\[[^]]+\]\}\.([a-z0-9.-]+)\$\{Token")


def names_of_the_cdk() -> set[str]:
    """Every interface endpoint that the CDK names `com.amazonaws.<region>.<name>`."""
    service = ec2.InterfaceVpcEndpointAwsService
    constants = [name for name in dir(service) if name.isupper() or name.replace("_", "").isupper()]
    found = {match[1] for name in constants if (match := _SERVICE.match(getattr(service, name).name))}
    return {name for name in found if not name.endswith("-fips")}


def test_endpoint_names_are_those_of_the_cdk():
    known = names_of_the_cdk()
    assert len(known) > 300
    # The gateway endpoints' names are left out: FleetNetwork makes S3's itself.
    assert endpoint_names() == known - {"s3", "dynamodb"}


def test_endpoints_of_nodes_exist():
    assert {endpoint.name for endpoint in node_endpoints()} <= endpoint_names()


def test_a_closed_network_has_what_nodes_need_and_features_add_theirs():
    closed = interface_endpoints(InternetAccess.NONE)
    assert {"ssm", "ssmmessages", "ec2messages", "logs", "monitoring", "sts", "ec2"} <= set(closed)
    assert {"ecr.api", "ecr.dkr", "fsx", "sagemaker.api", "kms"} <= set(closed)
    assert "secretsmanager" not in closed
    full = interface_endpoints(InternetAccess.NONE, list(EndpointFeature), ["sqs", "ssm"])
    inference = {"ecs", "ecs-agent", "ecs-telemetry", "cloudformation", "autoscaling"}
    work = {"sagemaker.runtime"}
    assert set(full) - set(closed) == {
        "secretsmanager",
        "aps-workspaces",
        "grafana-workspace",
        "sqs",
        *inference,
        *work,
    }
    assert len(full) == len(set(full))


def test_each_feature_has_an_endpoint():
    assert {feature for endpoint in node_endpoints() for feature in endpoint.needed_by} == {"always", *EndpointFeature}


def test_beside_nat_nodes_can_be_entered_and_read():
    assert interface_endpoints(InternetAccess.NAT) == ("ssm", "ssmmessages", "ec2messages", "logs")


def test_days_of_logs_are_those_of_the_resource_schema():
    known = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-west-2", "AWS::Logs::LogGroup")
    days = list[int](known.schema["properties"]["RetentionInDays"]["enum"])  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    assert list(address_facts().log_retention_days) == days
