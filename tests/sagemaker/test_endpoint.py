"""The resources of an endpoint: model, configuration, endpoint, log, role, network."""

import re
from typing import Any, cast

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Annotations, Match, Template
from constructs import Construct

from llm_fleet import (
    EndpointImage,
    EndpointModel,
    FleetError,
    FleetKey,
    FleetNetwork,
    HuggingFaceEndpoint,
    NetworkSpec,
    NeuronSettings,
)
from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import SageMakerCode
from tests.sagemaker.endpoints import (
    FILES,
    GPT_J,
    from_files,
    good,
    made,
    new_stack,
    properties,
    resources,
    role_statements,
    spec,
)

ZONES = ["usw2-az1", "usw2-az4"]
MODEL, CONFIG, ENDPOINT = "AWS::SageMaker::Model", "AWS::SageMaker::EndpointConfig", "AWS::SageMaker::Endpoint"


def text(value: Any) -> str:
    """Return an `Fn::Join` as one text, with names for references."""
    if isinstance(value, dict) and "Fn::Join" in value:
        return "".join(text(part) for part in cast("list[Any]", value["Fn::Join"][1]))
    if isinstance(value, dict) and "Ref" in value:
        return f"<{value['Ref']}>"
    return str(cast(Any, value))


def test_names_of_model_and_configuration_are_generated_by_cloudformation() -> None:
    assert "ModelName" not in properties(good(), MODEL)
    assert "EndpointConfigName" not in properties(good(), CONFIG)
    name = properties(good(), ENDPOINT)["EndpointName"]
    assert name == good().endpoint_name == made().endpoint_name  # always the same
    assert name == name.lower()


def test_a_long_construct_path_gives_a_valid_name() -> None:
    inner = Construct(new_stack(), "a-construct-with-a-very-long-name-" * 5)
    endpoint = HuggingFaceEndpoint(inner, "Endpoint", spec())
    assert len(endpoint.endpoint_name) <= 63
    assert re.fullmatch("[a-z0-9](-*[a-z0-9])*", endpoint.endpoint_name)


def test_image_ami_and_routing() -> None:
    container, variant = properties(good(), MODEL)["PrimaryContainer"], properties(good(), CONFIG)["ProductionVariants"]
    assert text(container["Image"]) == (
        "763104351884.dkr.ecr.us-west-2.<AWS::URLSuffix>/huggingface-vllm:0.27.1-transformers5.10.2-gpu-py312-cu130-"
        "ubuntu22.04"
    )
    assert "ModelDataUrl" not in container
    assert variant == [
        {
            "VariantName": "AllTraffic",
            "ModelName": variant[0]["ModelName"],
            "InstanceType": "ml.g4dn.xlarge",
            "InitialInstanceCount": 1,
            "InitialVariantWeight": 1,
            "InferenceAmiVersion": "al2023-ami-sagemaker-inference-gpu-4-1",
            "ContainerStartupHealthCheckTimeoutInSeconds": variant[0]["ContainerStartupHealthCheckTimeoutInSeconds"],
            "RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
        }
    ]


def test_files_are_copied_unchanged_and_an_archive_is_unpacked() -> None:
    source = properties(from_files(), MODEL)["PrimaryContainer"]["ModelDataSource"]["S3DataSource"]
    assert source == {"S3Uri": "s3://my-models/gpt-j/", "S3DataType": "S3Prefix", "CompressionType": "None"}
    archive = made(model=EndpointModel.from_tarball("s3://my-models/gpt-j/model.tar.gz"))
    container = properties(archive, MODEL)["PrimaryContainer"]
    assert container["ModelDataUrl"] == "s3://my-models/gpt-j/model.tar.gz"
    assert "ModelDataSource" not in container


def test_bucket_and_key_of_a_model_in_the_app_are_used() -> None:
    stack = new_stack()
    key = FleetKey(stack, "Key")
    bucket = s3.Bucket(stack, "Models", encryption=s3.BucketEncryption.KMS, encryption_key=key)
    endpoint = made(stack, model=EndpointModel.from_bucket(bucket, "gpt-j"))
    source = properties(endpoint, MODEL)["PrimaryContainer"]["ModelDataSource"]["S3DataSource"]["S3Uri"]
    assert text(source).endswith("/gpt-j/")
    assert role_statements(endpoint)["ModelKey"]["Action"] == "kms:Decrypt"


def test_the_role_can_only_read_this_image_and_this_model() -> None:
    statements = role_statements(from_files())
    assert text(statements["Images"]["Resource"]).endswith(
        ":ecr:us-west-2:763104351884:repository/huggingface-vllm-inference-neuronx"
    )
    assert text(statements["ModelObjects"]["Resource"]).endswith(":s3:::my-models/gpt-j/*")
    assert statements["ModelList"]["Condition"] == {"StringLikeIfExists": {"s3:prefix": ["gpt-j", "gpt-j/*"]}}
    assert statements["ModelKey"]["Resource"] == FILES.key_arn
    assert {text(one).rpartition("log-group:")[2] for one in statements["Log"]["Resource"]} == {
        f"/aws/sagemaker/Endpoints/{from_files().endpoint_name}",
        f"/aws/sagemaker/Endpoints/{from_files().endpoint_name}:*",
    }
    anything = {sid for sid, one in statements.items() if one["Resource"] == "*"}
    assert anything == {"ImageRegistry", "Metrics"}
    assert not {sid for sid, one in statements.items() if "*" in str(one["Action"])}
    assert "Model" not in " ".join(role_statements(good()))
    (role,) = resources(good(), "AWS::IAM::Role")
    assert len(role["Properties"]["ManagedPolicyArns"]) == 1
    assert "FullAccess" not in str(role)


def test_with_an_archive_the_role_can_read_only_the_archive() -> None:
    archive = made(model=EndpointModel.from_tarball("s3://my-models/gpt-j/model.tar.gz"))
    assert text(role_statements(archive)["ModelArchive"]["Resource"]).endswith(":s3:::my-models/gpt-j/model.tar.gz")
    assert "ModelList" not in role_statements(archive)


def test_the_log_group_is_created_before_the_endpoint_and_has_a_retention() -> None:
    log = properties(good(), "AWS::Logs::LogGroup")
    assert log["LogGroupName"] == f"/aws/sagemaker/Endpoints/{good().endpoint_name}"
    assert log["RetentionInDays"] == 30
    (endpoint,) = resources(good(), ENDPOINT)
    assert any(name.startswith("GptJLog") for name in endpoint["DependsOn"])
    assert any(name.startswith("GptJRole") for name in endpoint["DependsOn"])


def test_in_a_network_each_instance_has_an_interface_and_no_ingress() -> None:
    stack = new_stack()
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=ZONES))
    endpoint = made(stack, network=network)
    vpc = properties(endpoint, MODEL)["VpcConfig"]
    assert len(vpc["Subnets"]) == 2
    (group,) = [
        one["Properties"]
        for one in resources(endpoint, "AWS::EC2::SecurityGroup")
        if "SageMaker endpoint" in one["Properties"]["GroupDescription"]
    ]
    assert "SecurityGroupIngress" not in group
    assert [(one["FromPort"], one["ToPort"]) for one in group["SecurityGroupEgress"]] == [(443, 443)]
    assert endpoint.connections.security_groups == [endpoint.security_group]
    assert "ec2:CreateNetworkInterface" in role_statements(endpoint)["NetworkInterfaces"]["Action"]


def test_without_a_network_there_is_no_vpc_configuration() -> None:
    assert "VpcConfig" not in properties(good(), MODEL)
    assert "NetworkInterfaces" not in role_statements(good())
    assert good().connections.security_groups == []


def test_more_instances_than_addresses_are_reported() -> None:
    stack = new_stack()
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=ZONES))
    with pytest.raises(FleetError) as error:
        made(stack, network=network, instance_count=50_000)
    assert {problem.path[0] for problem in error.value.problems} == {"network"}


def test_a_key_encrypts_volume_and_log() -> None:
    stack = new_stack()
    key = FleetKey(stack, "Key")
    on_volume = made(stack, model=FILES, instance_type="ml.inf2.xlarge", encryption_key=key)
    assert "KmsKeyId" in properties(on_volume, CONFIG)
    assert "KmsKeyId" in properties(on_volume, "AWS::Logs::LogGroup")
    condition = role_statements(on_volume)["VolumeKey"]["Condition"]
    assert condition == {"Bool": {"kms:GrantIsForAWSResource": "true"}}
    stack = new_stack()
    on_disks = made(stack, encryption_key=FleetKey(stack, "Key"))
    assert "KmsKeyId" not in properties(on_disks, CONFIG)  # g4dn's disks are encrypted by the hardware
    assert "VolumeKey" not in role_statements(on_disks)


def test_an_endpoint_with_neuron() -> None:
    endpoint = made(
        model=FILES,
        instance_type="ml.inf2.8xlarge",
        neuron=NeuronSettings(batch_size=4, sequence_length=4096),
    )
    environment = properties(endpoint, MODEL)["PrimaryContainer"]["Environment"]
    assert environment["SM_ON_BATCH_SIZE"] == "4"
    (variant,) = properties(endpoint, CONFIG)["ProductionVariants"]
    assert "InferenceAmiVersion" not in variant
    assert variant["VolumeSizeInGB"] == 64
    assert 60 <= variant["ModelDataDownloadTimeoutInSeconds"] <= 3600


def test_given_values_are_in_the_template() -> None:
    endpoint = made(
        name="talk",
        image=EndpointImage.tgi(),
        instance_count=3,
        inference_ami="al2023-ami-sagemaker-inference-gpu-4-1",
        startup_timeout_seconds=900,
        environment={"MAX_TOTAL_TOKENS": "2048"},
        log_retention_days=7,
    )
    (variant,) = properties(endpoint, CONFIG)["ProductionVariants"]
    assert variant["InitialInstanceCount"] == 3
    assert variant["InferenceAmiVersion"] == "al2023-ami-sagemaker-inference-gpu-4-1"
    assert variant["ContainerStartupHealthCheckTimeoutInSeconds"] == 900
    assert properties(endpoint, MODEL)["PrimaryContainer"]["Environment"]["MAX_TOTAL_TOKENS"] == "2048"
    assert properties(endpoint, ENDPOINT)["EndpointName"] == "talk"
    assert properties(endpoint, "AWS::Logs::LogGroup")["RetentionInDays"] == 7


def test_network_isolation() -> None:
    endpoint = made(model=FILES, instance_type="ml.inf2.xlarge", network_isolation=True)
    assert properties(endpoint, MODEL)["EnableNetworkIsolation"] is True


def test_grant_invoke_allows_only_to_invoke() -> None:
    endpoint = made()
    stack = cdk.Stack.of(endpoint)
    role = iam.Role(stack, "Caller", assumed_by=cast(iam.IPrincipal, iam.AccountRootPrincipal()))
    endpoint.grant_invoke(role)
    endpoint.grants.describe(role)
    (policy,) = [
        one["Properties"]["PolicyDocument"]["Statement"]
        for one in resources(endpoint, "AWS::IAM::Policy")
        if "Caller" in str(one["Properties"]["PolicyName"])
    ]
    (allowed,) = policy  # the CDK writes both grants as one
    assert allowed["Action"] == [
        "sagemaker:DescribeEndpoint",
        "sagemaker:InvokeEndpoint",
        "sagemaker:InvokeEndpointWithResponseStream",
    ]
    assert allowed["Resource"] == {"Ref": next(iter(Template.from_stack(stack).find_resources(ENDPOINT)))}


def test_metrics_are_those_of_the_variant() -> None:
    for metric in (good().metric_invocations(), good().metric_model_latency(), good().metric_server_errors()):
        assert metric.namespace == "AWS/SageMaker"
        assert metric.dimensions == {"EndpointName": good().endpoint_name, "VariantName": "AllTraffic"}


def test_the_output_has_the_command_to_invoke_the_endpoint() -> None:
    endpoint = made()
    endpoint.add_outputs()
    outputs = Template.from_stack(cdk.Stack.of(endpoint)).to_json()["Outputs"]
    (command,) = [one["Value"] for name, one in outputs.items() if "InvokeCommand" in name]
    assert command.startswith(
        f"aws sagemaker-runtime invoke-endpoint --region us-west-2 --endpoint-name {endpoint.endpoint_name}"
    )
    assert '\'{"prompt": "The capital of Japan is", "max_tokens": 16}\'' in command


def test_all_problems_are_reported_together_and_nothing_is_created() -> None:
    stack = new_stack()
    with pytest.raises(FleetError) as error:
        made(
            stack,
            model=EndpointModel.from_hub("owner/huge", parameters=70_000_000_000),
            volume_gib=100,
            network_isolation=True,
            log_retention_days=31,
        )
    assert {problem.code for problem in error.value.problems} == {
        SageMakerCode.ENDPOINT_FIT,
        SageMakerCode.ENDPOINT_VOLUME,
        SageMakerCode.ENDPOINT_ISOLATED,
        SageMakerCode.ENDPOINT_NUMBER,
    }
    assert Template.from_stack(stack).to_json().get("Resources", {}) == {}


@pytest.mark.parametrize(
    "changes",
    [
        {"network": "vpc-1"},
        {"encryption_key": "arn:aws:kms:x"},
    ],
)
def test_values_of_another_class_are_reported(changes: dict[str, Any]) -> None:
    with pytest.raises(FleetError) as error:
        made(**changes)
    (problem,) = error.value.problems
    assert (problem.code, problem.path[:1]) == (Code.WRONG_TYPE, tuple(changes))
    assert problem.remedy


def test_a_problem_reported_for_an_image_is_a_warning() -> None:
    endpoint = made(image=EndpointImage.hugging_face())
    found = Annotations.from_stack(cdk.Stack.of(endpoint)).find_warning("*", Match.string_like_regexp("ncclCommResume"))
    assert len(found) == 1
    assert Annotations.from_stack(cdk.Stack.of(made())).find_warning("*", Match.any_value()) == []


def test_an_image_uri_that_is_a_token_requires_its_repository() -> None:
    stack = new_stack()
    uri = cdk.Fn.import_value("image")
    with pytest.raises(FleetError) as error:
        made(stack, image=EndpointImage.of(uri))
    assert "from_ecr" in error.value.problems[0].remedy
    assert GPT_J.location == "EleutherAI/gpt-j-6b"
