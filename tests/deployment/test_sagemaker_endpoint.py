"""The example's endpoint in a local emulation: deployed, read back, updated, and gone when its time is over.

One endpoint lives once, in the fixture and in the tests that follow it in their order; the last ones change and delete
it. Nothing boots, downloads or answers here.
"""

from collections.abc import Generator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from llm_fleet_local.aws.client import LocalAws
from tests.deployment.conftest import synthesize
from tests.deployment.what_is_there import what_is_there
from tools.synth_environment import ROOT

EXAMPLE = ROOT / "examples" / "sagemaker-endpoint.yaml"
NAME = STACK = "tutorial-gpt-j"
LOG_GROUP = f"/aws/sagemaker/Endpoints/{NAME}"


@dataclass(kw_only=True)
class Deployed:
    """The example's endpoint, as SageMaker reports of it now."""

    aws: LocalAws
    folder: Path

    @property
    def endpoint(self) -> dict[str, Any]:
        return self.aws.client("sagemaker").describe_endpoint(EndpointName=NAME)

    @property
    def config(self) -> dict[str, Any]:
        name = self.endpoint["EndpointConfigName"]
        return self.aws.client("sagemaker").describe_endpoint_config(EndpointConfigName=name)

    @property
    def variant(self) -> dict[str, Any]:
        (only,) = self.config["ProductionVariants"]
        return only

    @property
    def model(self) -> dict[str, Any]:
        return self.aws.client("sagemaker").describe_model(ModelName=self.variant["ModelName"])

    @property
    def outputs(self) -> dict[str, str]:
        (stack,) = self.aws.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
        return {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}

    def names(self) -> dict[str, list[str]]:
        """The names of all models, configurations and endpoints that there are."""
        client = self.aws.client("sagemaker")
        return {
            "models": [one["ModelName"] for one in client.list_models()["Models"]],
            "configurations": [one["EndpointConfigName"] for one in client.list_endpoint_configs()["EndpointConfigs"]],
            "endpoints": [one["EndpointName"] for one in client.list_endpoints()["Endpoints"]],
        }

    def deploy(self, name: str, *edits: str) -> Any:
        """Deploy the example with each first text replaced by the one after it; return the report."""
        text = EXAMPLE.read_text(encoding="utf-8")
        for old, new in zip(edits[::2], edits[1::2], strict=True):
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        file = self.folder / f"{name}.yaml"
        file.write_text(text, encoding="utf-8")
        return self.aws.deploy(synthesize(self.folder / name, file))


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Generator[Deployed]:
    with LocalAws(region="us-west-2") as aws:
        aws.bootstrap()
        made = Deployed(aws=aws, folder=tmp_path_factory.mktemp("endpoint"))
        report = made.deploy("first")
        assert report.succeeded, report
        yield made


def test_nothing_is_only_recorded(deployed: Deployed) -> None:
    assert deployed.aws.recorded() == []


def test_gpt_j_is_behind_an_endpoint_on_the_tutorials_gpu(deployed: Deployed) -> None:
    reported = deployed.endpoint
    assert reported["EndpointStatus"] == "InService"
    assert deployed.variant["InstanceType"] == "ml.g4dn.xlarge"
    (variant,) = reported["ProductionVariants"]
    assert variant["CurrentInstanceCount"] == 1
    container = deployed.model["PrimaryContainer"]
    assert container["Environment"] == {
        "SM_VLLM_MODEL": "EleutherAI/gpt-j-6b",
        "SM_VLLM_REVISION": "float16",
        "SM_VLLM_TENSOR_PARALLEL_SIZE": "1",
        "SM_VLLM_MAX_MODEL_LEN": "2048",
    }
    assert container["Image"] == variant["DeployedImages"][0]["SpecifiedImage"]
    assert container["Image"].startswith("763104351884.dkr.ecr.us-west-2.amazonaws.com/huggingface-vllm:")
    assert "-cu130-" in container["Image"]


def test_its_host_knows_the_images_cuda_and_waits_for_the_model(deployed: Deployed) -> None:
    variant = deployed.variant
    assert variant["InferenceAmiVersion"] == "al2023-ami-sagemaker-inference-gpu-4-1"
    assert variant["ContainerStartupHealthCheckTimeoutInSeconds"] >= 600
    assert variant["RoutingConfig"] == {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"}
    assert "VolumeSizeInGB" not in variant
    assert "KmsKeyId" not in deployed.config


def test_its_log_is_kept_for_a_month_and_no_longer(deployed: Deployed) -> None:
    (group,) = deployed.aws.client("logs").describe_log_groups(logGroupNamePrefix=LOG_GROUP)["logGroups"]
    assert (group["logGroupName"], group["retentionInDays"]) == (LOG_GROUP, 30)


def test_its_role_pulls_one_image_and_writes_one_log(deployed: Deployed) -> None:
    iam, name = deployed.aws.client("iam"), deployed.model["ExecutionRoleArn"].rsplit("/", 1)[-1]
    assert iam.list_role_policies(RoleName=name)["PolicyNames"] == []
    (attached,) = iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"]
    version = iam.get_policy(PolicyArn=attached["PolicyArn"])["Policy"]["DefaultVersionId"]
    found = iam.get_policy_version(PolicyArn=attached["PolicyArn"], VersionId=version)["PolicyVersion"]["Document"]
    statements = {one["Sid"]: one for one in found["Statement"]}
    assert statements["Images"]["Resource"] == "arn:aws:ecr:us-west-2:763104351884:repository/huggingface-vllm"
    assert statements["Log"]["Resource"][0].endswith(f":log-group:{LOG_GROUP}")
    assert not [sid for sid in statements if sid.startswith("Model")]  # nothing of S3: the model is on the Hub


def test_the_outputs_are_what_the_comment_of_the_example_uses(deployed: Deployed) -> None:
    outputs = {name.removeprefix("Endpoint")[:-8]: value for name, value in deployed.outputs.items()}
    assert outputs["EndpointName"] == NAME
    assert f'EndpointName="{NAME}"' in EXAMPLE.read_text(encoding="utf-8")
    assert f"--endpoint-name {NAME} " in outputs["InvokeCommand"]


def test_an_update_brings_up_another_configuration_and_takes_the_old_one_away(deployed: Deployed) -> None:
    before, created = deployed.names(), deployed.endpoint["CreationTime"]
    report = deployed.deploy("longer", 'SM_VLLM_MAX_MODEL_LEN: "2048"', 'SM_VLLM_MAX_MODEL_LEN: "1024"')
    assert report.succeeded, report
    after = deployed.names()
    assert deployed.endpoint["CreationTime"] == created  # updated, not replaced
    assert {kind: len(names) for kind, names in after.items()} == {kind: 1 for kind in before}
    assert after["endpoints"] == before["endpoints"] == [NAME]
    assert not set(after["models"] + after["configurations"]) & set(before["models"] + before["configurations"])
    assert deployed.model["PrimaryContainer"]["Environment"]["SM_VLLM_MAX_MODEL_LEN"] == "1024"


def test_a_number_of_instances_alone_leaves_the_model(deployed: Deployed) -> None:
    before = deployed.names()
    report = deployed.deploy(
        *("more", 'SM_VLLM_MAX_MODEL_LEN: "2048"', 'SM_VLLM_MAX_MODEL_LEN: "1024"'),
        *("instance: ml.g4dn.xlarge", "instance: ml.g4dn.xlarge\n    count: 2"),
    )
    assert report.succeeded, report
    assert deployed.names()["models"] == before["models"]
    assert deployed.endpoint["ProductionVariants"][0]["CurrentInstanceCount"] == 2


MORE = (
    *('SM_VLLM_MAX_MODEL_LEN: "2048"', 'SM_VLLM_MAX_MODEL_LEN: "1024"'),
    *(
        "instance: ml.g4dn.xlarge",
        "instance: ml.g4dn.xlarge\n    count: 2\n    scaling: {max: 3}\n    data_capture: {}",
    ),
)


def everything(aws: LocalAws) -> dict[str, set[str]]:
    """All that the account has, by name; of rules, whether they are on."""
    scaling = aws.client("application-autoscaling")
    policies = scaling.describe_scaling_policies(ServiceNamespace="sagemaker")["ScalingPolicies"]
    targets = scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"]
    rules = aws.client("events").list_rules()["Rules"]
    budgets = aws.client("budgets").describe_budgets(AccountId=aws.account)["Budgets"]
    others = {kind: set(names) for kind, names in what_is_there(aws).items()}
    return others | {
        "rules": {f"{one['Name']} {one['State']}" for one in rules},
        "scaling": {one["ResourceId"] for one in targets} | {one["PolicyName"] for one in policies},
        "budgets": {one["BudgetName"] for one in budgets},
    }


def at_the_rules_time(deployed: Deployed, hours: float) -> dict[str, Any]:
    """Run the function as its rule does, this long after the endpoint's creation, with the rights of its role."""
    functions = deployed.aws.client("lambda").list_functions()["Functions"]
    (name,) = [one["FunctionName"] for one in functions if one["Handler"].startswith("endpoint_reaper")]
    time = (deployed.endpoint["CreationTime"] + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")
    run = deployed.aws.invoke(name, {"source": "aws.events", "detail-type": "Scheduled Event", "time": time})
    assert run["ended_well"], run["log"]
    return run["returned"]


def test_its_end_takes_endpoint_configuration_and_model_and_nothing_else(deployed: Deployed) -> None:
    """It scales by now, and its requests are kept."""
    aws = deployed.aws
    assert (report := deployed.deploy("scaling", *MORE)).succeeded, report
    sagemaker, container = aws.client("sagemaker"), deployed.model["PrimaryContainer"]
    sagemaker.create_model(
        ModelName="other", ExecutionRoleArn=deployed.model["ExecutionRoleArn"], PrimaryContainer=container
    )
    variant = {**deployed.variant, "ModelName": "other"}
    sagemaker.create_endpoint_config(EndpointConfigName="other", ProductionVariants=[variant])
    sagemaker.create_endpoint(EndpointName="other", EndpointConfigName="other")
    names, before = deployed.names(), everything(aws)

    assert at_the_rules_time(deployed, hours=3.9)["state"] == "young"
    assert (deployed.names(), everything(aws)) == (names, before)

    returned = at_the_rules_time(deployed, hours=4.1)
    (mine,) = ({kind: set(have) - {"other"} for kind, have in names.items()},)
    assert {kind: len(have) for kind, have in mine.items()} == {"models": 1, "configurations": 1, "endpoints": 1}
    assert set(returned["deleted"]) == set[str]().union(*mine.values())
    assert deployed.names() == {kind: ["other"] for kind in names}
    after = everything(aws)
    changed = {kind: (before[kind] - after[kind], after[kind] - before[kind]) for kind in before}
    scaled = f"endpoint/{NAME}/variant/AllTraffic"
    alarms, none = changed.pop("alarms")
    assert none == set()
    assert {name.rsplit("-Alarm", 1)[0] for name in alarms} == {f"TargetTracking-{scaled}"}  # of its scaling policy
    assert changed.pop("scaling") == ({scaled, f"{NAME}-load"}, set())
    assert changed.pop("rules") == ({f"{NAME}-ttl ENABLED"}, {f"{NAME}-ttl DISABLED"})
    assert {kind: changed.pop(kind) for kind in ("models", "endpoints")} == {
        kind: (mine[kind], set()) for kind in ("models", "endpoints")
    }
    assert {kind: change for kind, change in changed.items() if change != (set(), set())} == {}


def test_after_its_end_the_stack_goes_and_leaves_what_was_captured(deployed: Deployed) -> None:
    aws = deployed.aws
    assert NAME not in deployed.names()["endpoints"]
    before = everything(aws)
    aws.let_endpoints(gone_is_an_error=True)
    report = aws.destroy(deployed.folder / "scaling", unprotect=True)
    aws.let_endpoints()
    assert not report.succeeded, "what was deleted beneath a stack may keep it from being deleted"
    # As the docs say it; nothing of the endpoint is left, so nothing is left behind.
    client = aws.client("cloudformation")
    client.delete_stack(StackName=STACK, DeletionMode="FORCE_DELETE_STACK")
    client.get_waiter("stack_delete_complete").wait(StackName=STACK, WaiterConfig={"Delay": 1})
    after = everything(aws)
    for kind in ("functions", "alarms", "rules", "budgets", "dashboards", "roles", "policies", "log groups", "scaling"):
        assert not [name for name in after[kind] if NAME in name or "GptJ" in name], kind
    kept = [name for name in before["buckets"] & after["buckets"] if name.startswith(STACK)]
    assert len(kept) == 1
    assert "capture" in kept[0]
    assert deployed.names()["endpoints"] == ["other"]
