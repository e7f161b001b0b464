"""The task of an export: order of containers, hosts, permissions, and the command that starts it."""

import json
from types import SimpleNamespace
from typing import Any, cast

import aws_cdk as cdk
import pytest

from llm_fleet.inference.export import ModelExport
from llm_fleet.inference.model import ModelCheck
from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.network.network import Network
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.model_server import AwsVllmServer, HuggingFaceVllmServer
from llm_fleet.spec.model_shape import Model
from llm_fleet.spec.network import NetworkSpec
from llm_fleet.spec.service import ExportSpec, Hosts, ServiceSpec
from tests.clean import all_findings
from tests.conftest import ENVIRONMENT
from tests.lifecycle.model_checker.models import REQUESTED
from tools.synth_environment import cdk_context

SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:hub-AbCdEf"
HUB = Model(hub_id="weblab-GENIAC/Tanuki-8B-dpo-v1.0", revision="a1b2c3", token_secret_arn=SECRET)
RAW = Model(s3_uri="s3://my-models/raw/tanuki-8b", compiled=False)
MODEL = Model(s3_uri="s3://my-models/tanuki-8b")
TGI = ServiceSpec(model=MODEL, instance_type="inf2.xlarge")
VLLM = ServiceSpec(model=MODEL, instance_type="inf2.xlarge", server=HuggingFaceVllmServer())
NETWORK = cast(Network, SimpleNamespace(internet=None))
"""A network that only sets the internet access."""
CLOSED = cast(Network, SimpleNamespace(internet=InternetAccess.NONE))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Two exports, of the Hub on a host and of S3 on Fargate, synthesized once."""
    app = cdk.App(context=cdk_context(), outdir=str(tmp_path_factory.mktemp("cdk.out")))
    stack = cdk.Stack(app, "Test", env=ENVIRONMENT)
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az1"]))
    on_host = ModelExport(stack, "OnHost", ExportSpec(source=HUB), service=TGI, network=network, name="on-host")
    raw = ExportSpec(source=RAW, fargate=True)
    ModelExport(stack, "OnFargate", raw, service=VLLM, network=network, name="on-fargate")
    on_host.add_outputs()
    return app.synth().get_stack_by_name("Test").template


def test_on_a_host_the_export_runs_before_check_and_publication(template: dict[str, Any]):
    definition = _definition(template, "on-host")
    assert definition["RequiresCompatibilities"] == ["EC2"]
    assert _order(definition) == [("export", None), ("model-check", "export"), ("publish", "model-check")]
    assert [each["Name"] for each in definition["ContainerDefinitions"] if each["Essential"]] == ["publish"]


def test_a_checkpoint_in_s3_is_downloaded_first(template: dict[str, Any]):
    definition = _definition(template, "on-fargate")
    assert _order(definition)[:2] == [("fetch", None), ("export", "fetch")]
    assert _environment(definition, "fetch")["SOURCE"] == "s3://my-models/raw/tanuki-8b"
    assert _environment(definition, "export")["HF_HUB_OFFLINE"] == "1"


def test_export_and_check_run_in_the_servers_own_image(template: dict[str, Any]):
    definition = _definition(template, "on-host")
    images = {each["Name"]: each["Image"] for each in definition["ContainerDefinitions"]}
    assert images["export"] == images["model-check"]
    assert "huggingface-pytorch-tgi-inference" in json.dumps(images["export"])


def test_ecs_may_pull_the_servers_image(template: dict[str, Any]):
    registry = "arn:aws:ecr:us-west-2:763104351884:repository"
    for construct, repository in (
        ("OnHost", "huggingface-pytorch-tgi-inference"),
        ("OnFargate", "huggingface-vllm-inference-neuronx"),
    ):
        (policy,) = [
            each["Properties"]["PolicyDocument"]
            for name, each in template["Resources"].items()
            if each["Type"] == "AWS::IAM::ManagedPolicy" and name.startswith(f"{construct}ExecutionRole")
        ]
        allowed = {each["Sid"]: each["Resource"] for each in policy["Statement"]}
        assert (allowed["ImageRegistry"], allowed["Images"]) == ("*", f"{registry}/{repository}")


def test_the_export_has_the_settings_of_the_server(template: dict[str, Any]):
    export = json.loads(_environment(_definition(template, "on-host"), "export")["LLM_FLEET_EXPORT"])
    sizes = ["--task", "text-generation", "--batch_size", "4", "--sequence_length", "4096"]
    assert export["arguments"] == [*sizes, "--num_cores", "2", "--auto_cast_type", "bf16"]
    assert (export["hub_id"], export["revision"]) == ("weblab-GENIAC/Tanuki-8B-dpo-v1.0", "a1b2c3")
    vllm = json.loads(_environment(_definition(template, "on-fargate"), "export")["LLM_FLEET_EXPORT"])
    assert vllm["arguments"] == [*sizes, "--tensor_parallel_size", "2", "--instance_type", "inf2"]
    assert vllm["hub_id"] is None
    requested = json.loads(_environment(_definition(template, "on-host"), "model-check")["LLM_FLEET_MODEL_REQUESTED"])
    assert (requested["tensor_parallel"], requested["compiler"]) == (2, "2.19.8089.0")


def test_only_the_export_container_has_the_token_of_the_hub(template: dict[str, Any]):
    containers = _definition(template, "on-host")["ContainerDefinitions"]
    assert {each["Name"]: each.get("Secrets") for each in containers if each.get("Secrets")} == {
        "export": [{"Name": "HF_TOKEN", "ValueFrom": SECRET}]
    }


def test_the_host_is_the_smallest_that_can_export_and_runs_only_during_the_export(template: dict[str, Any]):
    (group,) = _of_type(template, "AWS::AutoScaling::AutoScalingGroup")
    assert (group["Properties"]["MinSize"], group["Properties"]["MaxSize"]) == ("0", "1")
    assert "CreationPolicy" not in group
    (launch,) = _of_type(template, "AWS::EC2::LaunchTemplate")
    data = launch["Properties"]["LaunchTemplateData"]
    assert data["InstanceType"] == "inf2.8xlarge"
    (disk,) = data["BlockDeviceMappings"]
    assert disk["Ebs"]["VolumeSize"] >= 3 * 14 + 30
    devices = _container(_definition(template, "on-host"), "export")["LinuxParameters"]["Devices"]
    assert [device["HostPath"] for device in devices] == ["/dev/neuron0"]


def test_on_fargate_the_task_has_enough_memory_and_disk_and_no_device(template: dict[str, Any]):
    definition = _definition(template, "on-fargate")
    assert (definition["Cpu"], definition["Memory"]) == ("16384", str(48 * 1024))
    assert definition["EphemeralStorage"] == {"SizeInGiB": 73}
    assert "Devices" not in _container(definition, "export")["LinuxParameters"]
    memory = [each["Memory"] for each in definition["ContainerDefinitions"]]
    assert sum(memory) == 48 * 1024


def test_the_task_can_write_to_its_prefix_only_and_delete_only_its_marker(template: dict[str, Any]):
    statements = _statements(template, "OnFargateTaskRole")
    assert {statement["Sid"]: (statement["Action"], statement["Resource"]) for statement in statements} == {
        "CheckpointList": ("s3:ListBucket", _arn("my-models")),
        "CheckpointObjects": ("s3:GetObject", _arn("my-models/raw/tanuki-8b/*")),
        "Model": (
            ["s3:AbortMultipartUpload", "s3:ListMultipartUploadParts", "s3:PutObject"],
            _arn("my-models/tanuki-8b/*"),
        ),
        "Marker": ("s3:DeleteObject", _arn("my-models/tanuki-8b/llm-fleet-model.json")),
    }
    assert {statement["Sid"] for statement in _statements(template, "OnHostTaskRole")} == {"Model", "Marker"}


def test_the_output_has_the_command_that_starts_the_export(template: dict[str, Any]):
    (output,) = template["Outputs"].values()
    text = "".join(part if isinstance(part, str) else "<>" for part in output["Value"]["Fn::Join"][1])
    assert text == (
        "aws ecs run-task --region us-west-2 --cluster <> --task-definition <> --count 1 "
        "--capacity-provider-strategy capacityProvider=<>,weight=1 "
        "--network-configuration 'awsvpcConfiguration={subnets=[<>],securityGroups=[<>],assignPublicIp=DISABLED}'"
    )


def test_the_task_definition_is_within_the_size_limit(template: dict[str, Any]):
    for name in ("on-host", "on-fargate"):
        assert len(json.dumps(_definition(template, name))) < 48 * 1024  # the limit of ECS is 64 KiB


def test_no_checker_finds_anything(stack: cdk.Stack, app: cdk.App):
    """Both kinds of export, and the check of the exported model."""
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az1"]))
    ModelExport(stack, "OnHost", ExportSpec(source=HUB), service=TGI, network=network).add_outputs()
    ModelExport(stack, "OnFargate", ExportSpec(source=RAW, fargate=True), service=VLLM, network=network)
    ModelCheck(stack, "Check", model=MODEL, requested=REQUESTED)
    assert all_findings(app) == []


@pytest.mark.parametrize(
    ("service", "export", "codes"),
    [
        ({}, {"source": MODEL}, {Code.MODEL_EXPORT}),
        ({"server": AwsVllmServer()}, {}, {Code.MODEL_EXPORT}),
        ({}, {"instance_type": "inf2.xlarge"}, {Code.MODEL_EXPORT_MEMORY}),
        ({}, {"instance_type": "inf2.8xlarge", "fargate": True}, {Code.MODEL_EXPORT}),
        ({"instance_type": "trn2.48xlarge"}, {}, {Code.SERVER_FAMILY}),
        ({"model": Model(s3_uri="s3://my-models/Llama-2-70b-hf")}, {}, {Code.MODEL_MEMORY}),
        ({"instance_type": "inf2.2xlarge"}, {}, {Code.HOST_TYPE}),
        ({}, {"instance_type": "inf2.2xlarge"}, {Code.HOST_TYPE}),
        ({}, {"hosts": Hosts(ami="x")}, {Code.HOST_AMI}),
        ({}, {"source": Model(hub_id="a/b", image_path="/x")}, {Code.CONTRADICTION}),
    ],
)
def test_errors_are_reported_before_anything_is_created(
    stack: cdk.Stack, service: dict[str, Any], export: dict[str, Any], codes: set[Code]
):
    spec = ExportSpec(**cast("dict[str, Any]", {"source": RAW, **export}))
    with pytest.raises(FleetError) as raised:
        ModelExport(stack, "Export", spec, service=TGI.narrowed(ServiceSpec, **service), network=NETWORK)
    assert {problem.code for problem in raised.value.problems} >= codes
    assert stack.node.try_find_child("Export") is None


@pytest.mark.parametrize("part", ["export", "service"])
def test_a_part_of_another_class_is_one_problem_with_an_example(stack: cdk.Stack, part: str):
    arguments: dict[str, Any] = {"export": ExportSpec(source=RAW), "service": TGI, part: "tgi"}
    with pytest.raises(FleetError) as raised:
        ModelExport(stack, "Export", arguments["export"], service=arguments["service"], network=NETWORK)
    assert [(problem.code, problem.where) for problem in raised.value.problems] == [(Code.WRONG_TYPE, part)]


def test_a_closed_network_requires_the_tools_image_in_its_region(stack: cdk.Stack):
    with pytest.raises(FleetError) as raised:
        ModelExport(stack, "Export", ExportSpec(source=HUB), service=TGI, network=CLOSED)
    assert [problem.where for problem in raised.value.problems] == ["export.source.hub_id", "export.tools_image"]


def _definition(template: dict[str, Any], family: str) -> dict[str, Any]:
    (found,) = [
        each["Properties"]
        for each in _of_type(template, "AWS::ECS::TaskDefinition")
        if each["Properties"]["Family"] == family
    ]
    return found


def _order(definition: dict[str, Any]) -> list[tuple[str, str | None]]:
    found: list[tuple[str, str | None]] = []
    for container in definition["ContainerDefinitions"]:
        waits = container.get("DependsOn", [])
        assert all(each["Condition"] == "SUCCESS" for each in waits)
        found.append((container["Name"], waits[0]["ContainerName"] if waits else None))
    return found


def _container(definition: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in definition["ContainerDefinitions"] if each["Name"] == name)


def _environment(definition: dict[str, Any], name: str) -> dict[str, str]:
    return {each["Name"]: _text(each["Value"]) for each in _container(definition, name)["Environment"]}


def _of_type(template: dict[str, Any], type: str) -> list[dict[str, Any]]:
    return [each for each in template["Resources"].values() if each["Type"] == type]


def _statements(template: dict[str, Any], beginning: str) -> list[dict[str, Any]]:
    (policy,) = [
        each
        for name, each in template["Resources"].items()
        if name.startswith(beginning) and each["Type"] == "AWS::IAM::ManagedPolicy"
    ]
    return policy["Properties"]["PolicyDocument"]["Statement"]


def _arn(rest: str) -> str:
    return f"arn:aws:s3:::{rest}"


def _text(value: Any) -> str:
    """Return `value` as text, with a word for each CDK token."""
    return value if isinstance(value, str) else "".join(p if isinstance(p, str) else "x" for p in value["Fn::Join"][1])
