"""A notebook instance in a stack: resources, permissions and errors."""

from typing import Any, cast

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Template

from llm_fleet import DataBucket, FleetKey, FleetNetwork, GitRepository, NetworkSpec, NotebookSpec, TrainingNotebook
from llm_fleet.rules.problem import FleetError
from tests.clean import nag_findings
from tests.made_networks import existing_network

TYPE = "AWS::SageMaker::NotebookInstance"


NEXT_TO = ("network", "buckets", "clusters", "encryption_key")


def made(stack: cdk.Stack, **arguments: Any) -> TrainingNotebook:
    network = existing_network(stack)
    return described(stack, **{"network": network, **arguments})


def described(stack: cdk.Stack, **arguments: Any) -> TrainingNotebook:
    next_to = {name: arguments.pop(name) for name in NEXT_TO if name in arguments}
    return TrainingNotebook(stack, "Notebook", NotebookSpec(**arguments), **next_to)


def properties(stack: cdk.Stack) -> dict[str, Any]:
    (only,) = Template.from_stack(stack).find_resources(TYPE).values()
    return only["Properties"]


def statements(stack: cdk.Stack) -> dict[str, dict[str, Any]]:
    policies = Template.from_stack(stack).find_resources("AWS::IAM::ManagedPolicy").values()
    return {one["Sid"]: one for policy in policies for one in policy["Properties"]["PolicyDocument"]["Statement"]}


def test_defaults_are_private_encrypted_and_stopped_when_idle(stack: cdk.Stack):
    made(stack)
    notebook = properties(stack)
    assert (notebook["DirectInternetAccess"], notebook["RootAccess"]) == ("Disabled", "Disabled")
    assert (notebook["InstanceType"], notebook["PlatformIdentifier"]) == ("ml.t3.medium", "notebook-al2023-v1")
    assert notebook["InstanceMetadataServiceConfiguration"] == {"MinimumInstanceMetadataServiceVersion": "2"}
    assert {"KmsKeyId", "SubnetId", "SecurityGroupIds", "LifecycleConfigName", "NotebookInstanceName"} <= set(notebook)
    (bucket,) = Template.from_stack(stack).find_resources("AWS::S3::Bucket").values()
    assert bucket["UpdateReplacePolicy"] == "Retain"
    assert {"Itself", "TrainingJobs", "Endpoints", "PassItself"} <= set(statements(stack))
    assert "sagemaker:StopNotebookInstance" in statements(stack)["Itself"]["Action"]


def test_no_action_is_a_wildcard_and_no_policy_is_awss_full_access(stack: cdk.Stack):
    made(stack, repositories=[GitRepository(url="https://git-codecommit.us-west-2.amazonaws.com/v1/repos/lab")])
    for sid, one in statements(stack).items():
        assert "*" not in str(one["Action"]), sid
        if one["Resource"] == "*":
            assert sid in {"ImageRegistry", "Lists", "Metrics", "InterfacesLookup"}, sid
    assert statements(stack)["PassItself"]["Condition"] == {
        "StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}
    }
    assert ":codecommit:us-west-2:111122223333:lab" in str(statements(stack)["Repository0"]["Resource"])
    assert "FullAccess" not in str(Template.from_stack(stack).to_json())


def test_permissions_are_limited_to_the_given_name_prefixes(stack: cdk.Stack):
    made(stack, name_prefixes=["my-team-"], idle_minutes=None)
    assert str(statements(stack)["TrainingJobs"]["Resource"]).count(":training-job/") == 1
    assert "my-team-*" in str(statements(stack)["Endpoints"]["Resource"])
    assert statements(stack)["Itself"]["Action"] == "sagemaker:DescribeNotebookInstance"


def test_permissions_for_the_log_are_limited_to_its_own_stream(stack: cdk.Stack):
    made(stack, name="lab")
    group = "arn:aws:logs:us-west-2:111122223333:log-group:/aws/sagemaker/NotebookInstances"
    of_group, of_streams = statements(stack)["ItsLogGroup"], statements(stack)["ItsLog"]
    assert (of_group["Action"], of_group["Resource"]) == (
        ["logs:CreateLogGroup", "logs:DescribeLogStreams"],
        [group, f"{group}:*"],
    )
    assert of_streams["Action"] == ["logs:CreateLogStream", "logs:PutLogEvents"]
    assert of_streams["Resource"] == f"{group}:log-stream:lab/*"


def test_prefixes_with_capitals_are_allowed_as_in_arns(stack: cdk.Stack):
    made(stack, name_prefixes=["Team-"])
    of_jobs, of_endpoints = (
        str(statements(stack)["TrainingJobs"]["Resource"]),
        statements(stack)["Endpoints"]["Resource"],
    )
    assert "training-job/team-*" in of_jobs
    for part in ("endpoint", "endpoint-config", "model"):
        assert f":{part}/team-*" in str(of_endpoints)
    assert "Endpoints/Team-*" in str(statements(stack)["Logs"]["Resource"])


def test_a_code_repository_is_created_for_a_repository_with_a_secret(stack: cdk.Stack):
    secret = "arn:aws:secretsmanager:us-west-2:111122223333:secret:git-AbCdEf"
    made(
        stack,
        repositories=[
            GitRepository(url="https://github.com/a/open.git"),
            GitRepository(url="https://github.com/a/ours.git", branch="main", secret_arn=secret),
        ],
    )
    notebook = properties(stack)
    assert notebook["DefaultCodeRepository"] == "https://github.com/a/open.git"
    assert "CodeRepositoryName" in str(notebook["AdditionalCodeRepositories"])
    (repository,) = Template.from_stack(stack).find_resources("AWS::SageMaker::CodeRepository").values()
    assert repository["Properties"]["GitConfig"]["SecretArn"] == secret
    assert statements(stack)["RepositorySecrets"]["Resource"] == secret


def test_grants_to_a_notebook_are_created_before_the_instance(stack: cdk.Stack):
    notebook = made(stack)
    ecr.Repository(stack, "Images").grant_pull(notebook)
    notebook.grant_open(iam.User(stack, "Ada"))
    template = Template.from_stack(stack)
    (instance,) = template.find_resources(TYPE).values()
    policies = {name for name in template.find_resources("AWS::IAM::Policy") if name.startswith("NotebookRole")}
    assert policies
    assert policies <= set(instance["DependsOn"])
    assert len(notebook.connections.security_groups) == 1


def test_a_given_bucket_is_used(stack: cdk.Stack):
    bucket = DataBucket(stack, "Data")
    notebook = made(stack, buckets=[bucket])
    assert cast(Any, notebook.bucket).bucket_arn == bucket.bucket_arn
    assert len(Template.from_stack(stack).find_resources("AWS::S3::Bucket")) == 1


def test_the_key_of_the_spec_has_priority_over_the_given_key(stack: cdk.Stack):
    arn = "arn:aws:kms:us-west-2:111122223333:key/01234567-89ab-cdef-0123-456789abcdef"
    made(stack, kms_key_arn=arn, encryption_key=FleetKey(stack, "Other"))
    assert properties(stack)["KmsKeyId"] == arn


def test_the_az_selects_the_subnet_and_an_address_is_reserved(stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4", "usw2-az1"]))
    described(stack, network=network, availability_zone_id="usw2-az1")
    expected = stack.resolve(network.compute_subnet("usw2-az1").subnet_id)
    assert properties(stack)["SubnetId"] == expected
    with pytest.raises(FleetError, match="LF206"):
        TrainingNotebook(stack, "Other", NotebookSpec(availability_zone_id="usw2-az9"), network=network)


def test_without_a_network_the_notebook_has_internet_access(stack: cdk.Stack):
    with pytest.raises(FleetError, match="LF912"):
        TrainingNotebook(stack, "Private")
    described(stack, internet=True)
    notebook = properties(stack)
    assert notebook["DirectInternetAccess"] == "Enabled"
    assert "SubnetId" not in notebook


def test_findings_about_internet_access_are_acknowledged(app: cdk.App, stack: cdk.Stack):
    described(stack, internet=True)
    assert nag_findings(app) == []


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ({"network": "vpc-1"}, "network"),
        ({"repositories": ["https://github.com/a/b"]}, "repositories[0]"),
        ({"repositories": "https://github.com/a/b"}, "repositories"),
        ({"internet": "yes"}, "internet"),
        ({"buckets": ["data"]}, "buckets[0]"),
        ({"pins": [3]}, "pins[0]"),
        ({"clusters": ["train"]}, "clusters[0]"),
        ({"instance_type": None}, "instance_type"),
        ({"encryption_key": "arn:aws:kms:us-west-2:111122223333:key/1"}, "encryption_key"),
    ],
)
def test_values_of_another_class_are_reported(stack: cdk.Stack, arguments: dict[str, Any], where: str):
    with pytest.raises(FleetError) as error:
        described(stack, **arguments)
    assert where in [problem.where for problem in error.value.problems]
