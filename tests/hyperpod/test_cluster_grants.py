"""Grants on a new or an existing cluster, and its outputs."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import botocore
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template

from llm_fleet import FleetError, HyperPodCluster, InstanceGroup

ARN = "arn:aws:sagemaker:us-west-2:111122223333:cluster/abcdefgh1234"
Make = Callable[..., HyperPodCluster]
NODES = "arn:aws:ssm:us-west-2:111122223333:managed-instance/sagemaker-cluster:abcdefgh1234_*"
PRINCIPAL: Any = iam.AccountPrincipal("111122223333")


@pytest.fixture
def engineers(stack: cdk.Stack) -> iam.Role:
    return iam.Role(stack, "Engineers", assumed_by=PRINCIPAL)


def statements(stack: cdk.Stack) -> list[dict[str, Any]]:
    policies = Template.from_stack(stack).find_resources("AWS::IAM::Policy").values()
    (policy,) = [body for body in policies if "Engineers" in str(body["Properties"]["Roles"])]
    return policy["Properties"]["PolicyDocument"]["Statement"]


def test_sessions_are_allowed_on_this_cluster_only(stack: cdk.Stack, engineers: iam.Role) -> None:
    cluster = HyperPodCluster.from_cluster_arn(stack, "Old", ARN)
    assert cluster.grants.ssm_session(engineers).success
    ssm = "arn:aws:ssm:us-west-2:111122223333"
    assert statements(stack) == [
        {
            "Effect": "Allow",
            "Action": "ssm:StartSession",
            "Resource": [ARN, f"{ssm}:document/SSM-SessionManagerRunShell", NODES],
            "Condition": {"BoolIfExists": {"ssm:SessionDocumentAccessCheck": "true"}},
        },
        {
            "Effect": "Allow",
            "Action": ["ssm:ResumeSession", "ssm:TerminateSession", "ssmmessages:OpenDataChannel"],
            "Resource": f"{ssm}:session/${{aws:userid}}-*",
        },
    ]


def test_jobs_can_be_submitted_on_this_cluster_only(stack: cdk.Stack, engineers: iam.Role) -> None:
    assert HyperPodCluster.from_cluster_arn(stack, "Old", ARN).grants.submit_jobs(engineers).success
    start, _, find = statements(stack)
    assert start["Resource"] == [ARN, NODES, "arn:aws:ssm:us-west-2::document/AWS-StartNonInteractiveCommand"]
    assert (find["Action"], find["Resource"]) == (["sagemaker:DescribeCluster", "sagemaker:ListClusterNodes"], ARN)


def test_sessions_can_use_another_document(stack: cdk.Stack, engineers: iam.Role) -> None:
    document = "arn:aws:ssm:us-west-2::document/AWS-StartPortForwardingSession"
    HyperPodCluster.from_cluster_arn(stack, "Old", ARN).grants.ssm_session(engineers, documents=[document])
    assert statements(stack)[0]["Resource"] == [ARN, NODES, document]


def test_describe_allows_only_reading(make: Make, stack: cdk.Stack, engineers: iam.Role) -> None:
    cluster = make()
    cluster.grants.describe(engineers)
    (statement,) = statements(stack)
    assert all(re.match("sagemaker:(Describe|List)Cluster", action) for action in statement["Action"])
    assert statement["Resource"] == stack.resolve(cluster.cluster_arn)


def test_manage_nodes_allows_no_update_and_no_deletion_of_the_cluster(
    make: Make, stack: cdk.Stack, engineers: iam.Role
) -> None:
    make().grants.manage_nodes(engineers)
    (statement,) = statements(stack)
    assert "sagemaker:BatchReplaceClusterNodes" in statement["Action"]
    assert not {"sagemaker:UpdateCluster", "sagemaker:DeleteCluster"} & set(statement["Action"])
    model = Path(botocore.__file__).parent / "data/sagemaker/2017-07-24/service-2.json.gz"
    operations = json.loads(gzip.decompress(model.read_bytes()))["operations"]
    assert {action.removeprefix("sagemaker:") for action in statement["Action"]} <= set(operations)


def test_ssm_target_of_an_existing_cluster(stack: cdk.Stack) -> None:
    cluster = HyperPodCluster.from_cluster_arn(stack, "Old", ARN)
    assert cluster.cluster_id == "abcdefgh1234"
    assert cluster.ssm_target("workers", "i-0123") == "sagemaker-cluster:abcdefgh1234_workers-i-0123"


def test_ssm_target_prefers_the_login_group(make: Make) -> None:
    assert make().ssm_target().endswith("_controller-group-<instance-id>")
    assert make(InstanceGroup.login("ml.m5.xlarge"), id="WithLogin").ssm_target().endswith("_login-<instance-id>")


def test_ssm_target_of_an_unknown_group_gets_a_suggestion(make: Make) -> None:
    with pytest.raises(FleetError, match="LF574") as error:
        make().ssm_target("worker-grop")
    assert error.value.problems[0].remedy == "write `worker-group`"


def test_outputs_identify_the_cluster(make: Make, stack: cdk.Stack) -> None:
    make(cluster_name="ml-cluster").add_outputs()
    outputs = Template.from_stack(stack).to_json()["Outputs"]
    values = {re.sub("^Train|[0-9A-F]{8}$", "", name): body["Value"] for name, body in outputs.items()}
    assert values["ClusterName"] == "ml-cluster"
    arn = {"Fn::GetAtt": ["Train781835F2", "ClusterArn"]}
    cluster_id = {"Fn::Select": [1, {"Fn::Split": ["/", arn]}]}
    assert values["ClusterArn"] == arn
    assert values["ClusterId"] == cluster_id
    target = ["sagemaker-cluster:", cluster_id, "_controller-group-<instance-id>"]
    assert values["SsmTarget"] == {"Fn::Join": ["", target]}


@pytest.mark.parametrize("arn", ["ml-cluster", ARN.upper(), ARN.replace("cluster/", "training-plan/"), f"{ARN}/x"])
def test_an_invalid_cluster_arn_is_rejected(stack: cdk.Stack, arn: str) -> None:
    with pytest.raises(FleetError, match="LF573"):
        HyperPodCluster.from_cluster_arn(stack, "Old", arn)


def test_a_cluster_arn_can_be_a_token(stack: cdk.Stack) -> None:
    arn = cdk.CfnParameter(stack, "Arn").value_as_string
    cluster = HyperPodCluster.from_cluster_arn(stack, "Old", arn)
    assert stack.resolve(cluster.cluster_id) == {"Fn::Select": [1, {"Fn::Split": ["/", {"Ref": "Arn"}]}]}


def test_a_cluster_can_be_allowed_by_other_resources(make: Make, stack: cdk.Stack) -> None:
    cluster = make()
    database = ec2.Connections(
        security_groups=[ec2.SecurityGroup.from_security_group_id(stack, "Database", "sg-0123456789abcdef0")]
    )
    database.allow_from(cluster, ec2.Port.tcp(3306))
    Template.from_stack(stack).has_resource_properties("AWS::EC2::SecurityGroupIngress", {"FromPort": 3306})


def test_an_existing_cluster_has_connections_only_with_security_groups(make: Make, stack: cdk.Stack) -> None:
    assert make(network=None).cluster_arn
    known = ec2.SecurityGroup.from_security_group_id(stack, "Known", "sg-0123456789abcdef0")
    attributes = HyperPodCluster.from_cluster_attributes(stack, "A", cluster_arn=ARN, security_groups=[known])
    assert attributes.connections.security_groups
    with pytest.raises(FleetError, match="LF572"):
        _ = HyperPodCluster.from_cluster_arn(stack, "B", ARN).connections


def test_permissions_can_be_granted_to_a_cluster(make: Make, stack: cdk.Stack) -> None:
    cluster = make()
    s3.Bucket(stack, "Data").grant_read(cluster)
    policies = Template.from_stack(stack).find_resources("AWS::IAM::Policy").values()
    grants = [body for body in policies if "s3:GetObject*" in str(body)]
    assert [body["Properties"]["Roles"] for body in grants] == [[stack.resolve(cluster.role.role_name)]]
