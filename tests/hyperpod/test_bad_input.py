"""Mistakes that only the construct finds: its region, scripts and subnets; others are in tests/rules/hyperpod."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template

from llm_fleet import (
    AutoPatch,
    DeepHealthCheck,
    FleetError,
    FleetNetwork,
    HyperPodCluster,
    HyperPodClusterSpec,
    InstanceGroup,
    Lifecycle,
    LifecycleScripts,
    LustreFileSystem,
    NetworkInterfaceType,
    NetworkSpec,
    NodeProvisioningMode,
    PatchingStrategy,
    SlurmConfigStrategy,
)

Make = Callable[..., HyperPodCluster]

CONTROLLER = InstanceGroup.controller("ml.m5.xlarge")
PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/p5-november"


def workers(instance_type: str = "ml.trn1.32xlarge", count: int = 4, **options: Any) -> InstanceGroup:
    return InstanceGroup.workers("workers", instance_type, count=count, **options)


@dataclass(frozen=True, kw_only=True)
class Mistake:
    code: str
    reported: str
    """Text that the message or the remedy must contain."""
    groups: tuple[InstanceGroup, ...] = ()
    options: dict[str, Any] = field(default_factory=dict[str, Any])


MISTAKES = {
    "a lifecycle together with a script": Mistake(
        code="LF117",
        reported="`lifecycle`",
        groups=(CONTROLLER, workers(on_create="on_create.sh", lifecycle=Lifecycle.ON_CREATE)),
    ),
    "training plan of another region": Mistake(
        code="LF542", reported="us-east-1", groups=(CONTROLLER, workers("ml.p5.48xlarge", training_plan_arn=PLAN))
    ),
    "zone without a subnet": Mistake(
        code="LF206", reported="usw2-az2", groups=(CONTROLLER, workers(availability_zone_id="usw2-az2"))
    ),
    "cluster in a zone without a subnet": Mistake(
        code="LF206", reported="usw2-az2", groups=(CONTROLLER, workers()), options={"availability_zone_id": "usw2-az2"}
    ),
    "script of one group that is not uploaded": Mistake(
        code="LF403",
        reported="prefix=",
        groups=(CONTROLLER, workers(on_create="mine.sh")),
        options={"lifecycle": Lifecycle.NONE},
    ),
    "script that is not uploaded": Mistake(
        code="LF403", reported="prefix=", groups=(CONTROLLER, workers(on_init_complete="mine.sh"))
    ),
    "prefix without a bucket": Mistake(
        code="LF577",
        reported="sagemaker-",
        groups=(CONTROLLER, workers()),
        options={"scripts": LifecycleScripts(prefix="v1")},
    ),
    "EFA interface without EFA": Mistake(
        code="LF575",
        reported="ml.m5.xlarge",
        groups=(InstanceGroup.controller("ml.m5.xlarge", network_interface=NetworkInterfaceType.EFA), workers()),
    ),
    "API only: third health check": Mistake(
        code="LF570",
        reported="start-cluster-health-check",
        groups=(CONTROLLER, workers(deep_health_checks=[DeepHealthCheck.MULTI_NODE_TRAINING_VALIDATION])),
    ),
    "API only: image release": Mistake(
        code="LF570", reported="update-cluster-software", groups=(CONTROLLER, workers(image_release_version="1.2.3"))
    ),
    "API only: idle window": Mistake(
        code="LF570",
        reported="update-cluster",
        groups=(
            CONTROLLER,
            workers(auto_patch=AutoPatch(strategy=PatchingStrategy.WHEN_IDLE, idle_wait_window_seconds=7200)),
        ),
    ),
    "EKS only: DrainFirst": Mistake(
        code="LF570",
        reported="WhenIdle",
        groups=(CONTROLLER, workers(auto_patch=AutoPatch(strategy=PatchingStrategy.DRAIN_FIRST))),
    ),
}


@pytest.mark.parametrize("mistake", [pytest.param(value, id=name) for name, value in MISTAKES.items()])
def test_each_mistake_is_reported_before_anything_is_created(make: Make, stack: cdk.Stack, mistake: Mistake) -> None:
    before = len(stack.node.find_all())
    with pytest.raises(FleetError) as error:
        make(groups=mistake.groups, **mistake.options)
    found = {problem.code.value: problem for problem in error.value.problems}
    assert mistake.code in found, error.value
    problem = found[mistake.code]
    assert problem.path, "a problem says where it is"
    assert mistake.reported in str(problem)
    assert len(stack.node.find_all()) <= before + 1, "nothing but the empty construct itself"


def test_all_mistakes_are_reported_together(make: Make) -> None:
    with pytest.raises(FleetError) as error:
        make(
            groups=[workers("trn1.32xlarge", count=-1, min_count=2, image_id="x")],
            cluster_name="a_b",
            slurm_config_strategy=SlurmConfigStrategy.MERGE,
            scripts=LifecycleScripts(prefix="v1"),
        )
    codes = {problem.code.value for problem in error.value.problems}
    assert codes >= {"LF500", "LF505", "LF512", "LF518", "LF525", "LF553", "LF577"}
    assert "Test/Train" in str(error.value)


def test_lustre_requires_a_vpc(make: Make, lustre: LustreFileSystem) -> None:
    with pytest.raises(FleetError) as error:
        make(network=None, lustre=lustre)
    assert [problem.code.value for problem in error.value.problems] == ["LF529"]


def test_a_group_must_be_in_the_az_of_its_file_system(make: Make, lustre: LustreFileSystem) -> None:
    with pytest.raises(FleetError) as error:
        make(workers(availability_zone_id="usw2-az1"), lustre=lustre)
    assert [problem.code.value for problem in error.value.problems] == ["LF534"]


def test_a_group_that_does_not_mount_a_file_system_can_be_in_another_az(make: Make, lustre: LustreFileSystem) -> None:
    assert make(workers(availability_zone_id="usw2-az1", mount_lustre=False), lustre=lustre).cluster_arn


def test_the_name_of_a_bucket_must_have_the_prefix(make: Make, stack: cdk.Stack) -> None:
    bucket = s3.Bucket.from_bucket_name(stack, "Scripts", "our-scripts")
    with pytest.raises(FleetError) as error:
        make(scripts=LifecycleScripts(bucket=bucket))
    (problem,) = error.value.problems
    assert problem.code.value == "LF401"
    assert "sagemaker-" in problem.remedy


def test_a_folder_and_a_prefix_exclude_each_other(make: Make, stack: cdk.Stack, tmp_path: Path) -> None:
    bucket = s3.Bucket.from_bucket_name(stack, "Scripts", "sagemaker-ours")
    with pytest.raises(FleetError, match="LF577"):
        make(scripts=LifecycleScripts(bucket=bucket, prefix="v1", scripts=tmp_path))


def test_the_legacy_file_excludes_settings_of_the_api(make: Make, stack: cdk.Stack) -> None:
    bucket = s3.Bucket.from_bucket_name(stack, "Scripts", "sagemaker-ours")
    with pytest.raises(FleetError) as error:
        make(scripts=LifecycleScripts(bucket=bucket, prefix="v1", provisioning_parameters=True))
    where = sorted((problem.code.value, problem.where) for problem in error.value.problems)
    assert where == [
        ("LF578", "groups.controller-group.on_create"),
        ("LF578", "groups.worker-group.on_create"),
        ("LF578", "node_provisioning_mode"),
    ]


def test_forty_p5_nodes_do_not_fit_a_slash_24(stack: cdk.Stack) -> None:
    network = FleetNetwork(stack, "Small", NetworkSpec(availability_zone_ids=["usw2-az4"], compute_cidr="10.1.0.0/24"))
    with pytest.raises(FleetError) as error:
        HyperPodCluster(
            stack,
            "Train",
            HyperPodClusterSpec(groups=[CONTROLLER, workers("ml.p5.48xlarge", count=40)]),
            network=network,
        )
    assert "LF220" in {problem.code.value for problem in error.value.problems}


def test_volume_keys(make: Make, stack: cdk.Stack) -> None:
    key = kms.Key(stack, "Key")
    with pytest.raises(FleetError) as error:
        make(
            workers(root_volume_key=key),
            InstanceGroup.login("ml.m5.xlarge", ebs_volume_key=key),
            node_provisioning_mode=None,
        )
    where = sorted((problem.code.value, problem.where) for problem in error.value.problems)
    assert where == [
        ("LF571", "groups.login.ebs_volume_key"),
        ("LF571", "groups.workers.root_volume_key"),
        ("LF576", "groups.login.ebs_volume_key"),
    ]


def test_tokens_pass(make: Make, stack: cdk.Stack) -> None:
    name = cdk.CfnParameter(stack, "Name").value_as_string
    kind = cdk.CfnParameter(stack, "Type").value_as_string
    count = cdk.CfnParameter(stack, "Count", type="Number").value_as_number
    image = cdk.CfnParameter(stack, "Image").value_as_string
    make(
        InstanceGroup.workers("workers", kind, count=count, image_id=image),  # pyright: ignore[reportArgumentType]
        cluster_name=name,
        node_provisioning_mode=NodeProvisioningMode.CONTINUOUS,
    )
    (cluster,) = Template.from_stack(stack).find_resources("AWS::SageMaker::Cluster").values()
    assert cluster["Properties"]["ClusterName"] == {"Ref": "Name"}
    group = cluster["Properties"]["InstanceGroups"][2]
    assert [group[key] for key in ("InstanceType", "InstanceCount", "ImageId")] == [
        {"Ref": "Type"},
        {"Ref": "Count"},
        {"Ref": "Image"},
    ]
