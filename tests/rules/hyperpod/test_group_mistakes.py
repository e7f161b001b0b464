"""One mistake in a group of a valid cluster: what is reported, and where."""

from typing import Any

import pytest

from llm_fleet.catalog.hyperpod import InstanceType
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.hyperpod_cluster import check_cluster
from llm_fleet.rules.instance_type import check_instance_type, nearest_type, sizes_of
from llm_fleet.rules.terms import DeepHealthCheck, OnDrainTimeout, PatchingStrategy
from llm_fleet.spec.instance_group import AutoPatch, BatchSize, RollingUpdate, ScheduledUpdate
from tests.rules.findings import check_one
from tests.rules.hyperpod.shapes import CONTROLLER, WORKERS, changed, cluster, cluster_with

PLAN = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/p5-november"
STRESS = DeepHealthCheck.INSTANCE_STRESS
NEURON = "allowed: for Neuron: ml.trn1.32xlarge, ml.trn1n.32xlarge, ml.trn2.3xlarge, ml.trn2.48xlarge"
SIZES = [f"ml.{family}.{size}xlarge" for family in ("c6i", "m6i", "r6i") for size in (2, 4, 8, 12, 16, 24, 32)]


def several(*types: str) -> dict[str, Any]:
    """A group with flexible instance types."""
    return {"instance_type": None, "instance_types": types}


@pytest.mark.parametrize(
    ("changes", "code", "where", "said"),
    [
        ({"name": "worker_group"}, Code.GROUP_NAME, "name", ["write `worker-group`"]),
        ({"partition": "gpu_queue"}, Code.PARTITION_NAME, "partition", ["contains an underscore"]),
        ({"partition": "p" * 1025}, Code.PARTITION_NAME, "partition", ["1025 characters"]),
        ({"partition": "DEFAULT"}, Code.PARTITION_NAME, "partition", ["slurm.conf uses"]),
        ({"partition": "dev"}, Code.PARTITION_NAME, "partition", ["HyperPod adds all nodes"]),
        ({"partition": None}, Code.PARTITION_MISSING, "partition", ["`worker-group`"]),
        ({"partition": ""}, Code.PARTITION_MISSING, "partition", ["`worker-group`"]),
        ({"count": -1}, Code.INSTANCE_COUNT, "count", ["must be at least"]),
        ({"count": 6759}, Code.INSTANCE_COUNT, "count", ["must be at most 6758"]),
        ({"min_count": -1}, Code.MIN_COUNT, "min_count", ["must be at least"]),
        (
            {"count": 4, "min_count": 5},
            Code.MIN_COUNT_ABOVE_COUNT,
            "min_count",
            ["`min_count` 5 is above `count` 4"],
        ),
        (
            {"availability_zone_id": "use1-az4", "mount_lustre": False},
            Code.ZONE_REGION,
            "availability_zone_id",
            ["use1-az4 is in us-east-1, not in us-west-2"],
        ),
        ({"subnets": ("subnet-0abc",)}, Code.OVERRIDE_INCOMPLETE, "security_groups", ["write `security_groups`, too"]),
        ({"security_groups": ("sg-0abc",)}, Code.OVERRIDE_INCOMPLETE, "subnets", ["write `subnets`, too"]),
        *(
            ({"training_plan_arn": arn}, Code.TRAINING_PLAN_ARN, "training_plan_arn", ["list-training-plans"])
            for arn in (
                *("p5-november", PLAN.replace("training-plan", "training-job"), PLAN.replace("111122223333", "1111")),
                *(PLAN.removesuffix("p5-november"), ""),
            )
        ),
        *(
            ({"training_plan_arn": PLAN.replace(*other)}, Code.TRAINING_PLAN_ELSEWHERE, "training_plan_arn", [said])
            for other, said in {
                ("us-west-2", "us-east-1"): "in region us-east-1, but the cluster is in us-west-2",
                ("111122223333", "444455556666"): "in account 444455556666, but the cluster is in 111122223333",
                ("arn:aws:", "arn:aws-cn:"): "in partition aws-cn, but the cluster is in aws",
            }.items()
        ),
        (
            {"training_plan_arn": PLAN, "training_plan_availability_zone_id": "usw2-az2"},
            Code.TRAINING_PLAN_ZONE,
            "availability_zone_id",
            ["plan is in usw2-az2, but the group is in usw2-az4"],
        ),
        ({"training_plan_arn": PLAN, "spot": True}, Code.SPOT_WITH_PLAN, "spot", ["which is already paid for"]),
        (
            {"deep_health_checks": (STRESS, STRESS)},
            Code.HEALTH_CHECK_NUMBER,
            "deep_health_checks",
            ["InstanceStress is listed 2 times"],
        ),
        *(
            ({"ebs_volume_gib": size}, Code.EBS_SIZE, "ebs_volume_gib", [said, "1 to 16384"])
            for size, said in {0: "must be at least 1", 16385: "must be at most 16384", -5: "must be at least"}.items()
        ),
        (
            {"availability_zone_id": "usw2-az1"},
            Code.MOUNT_ZONE,
            "availability_zone_id",
            ["'worker-group' is in usw2-az1", "move the group to usw2-az4, or the file system to usw2-az1"],
        ),
        ({"instance_type": "trn1.32xlarge"}, Code.INSTANCE_TYPE_PREFIX, "instance_type", ["write `ml.trn1.32xlarge`"]),
        *(
            (
                {"instance_type": name},
                Code.INSTANCE_TYPE_INFERENTIA,
                "instance_type",
                [
                    "inference service on ECS",
                    "Neuron: ml.trn1.32xlarge, ml.trn1n.32xlarge, ml.trn2.3xlarge, ml.trn2.48xlarge\n",
                ],
            )
            for name in ("ml.inf2.xlarge", "inf2.48xlarge", "ml.inf1.6xlarge", "INF2.xlarge")
        ),
        *(
            (
                {"instance_type": name},
                Code.INSTANCE_TYPE_UNKNOWN,
                "instance_type",
                [f"write `{offer}`; in Python, `InstanceTy"],
            )
            for name, offer in {
                "ml.trn1.32xlrage": "ml.trn1.32xlarge",
                "ml.tn1.32xlarge": "ml.trn1.32xlarge",
                "ml.trn1.2xlarge": "ml.trn1.32xlarge",
                "ml.p5.48xl": "ml.p5.48xlarge",
                "p5.48xl": "ml.p5.48xlarge",
                "ml.trn1-32xlarge": "ml.trn1.32xlarge",
                "ml.p6-b200.48xlarg": "ml.p6-b200.48xlarge",
            }.items()
        ),
        ({"instance_type": None}, Code.INSTANCE_TYPE_CHOICE, "instance_type", ["the group has no instance type"]),
        (
            {"instance_types": ("ml.trn1n.32xlarge",)},
            Code.INSTANCE_TYPE_CHOICE,
            "instance_types",
            ["['ml.trn1.32xlarge', 'ml.trn1n.32xlarge']"],
        ),
        (
            several("ml.trn1.32xlarge", "trn1n.32xlarge"),
            Code.INSTANCE_TYPE_PREFIX,
            "instance_types[1]",
            ["write `ml.trn1n.32xlarge`"],
        ),
        (
            several("ml.p5.48xlarge", "ml.p5.48xlarge"),
            Code.INSTANCE_TYPES_TWICE,
            "instance_types",
            ["is listed 2 times"],
        ),
        (several(*SIZES), Code.INSTANCE_TYPES_NUMBER, "instance_types", ["given:   21"]),
        *(
            (several(*types), Code.INSTANCE_TYPES_MIXED, "instance_types", [f"differ in {kind}", *types])
            for types, kind in {
                ("ml.c6i.large", "ml.c6g.large"): "architecture",
                ("ml.p5.48xlarge", "ml.trn1.32xlarge"): "accelerator",
                ("ml.p5.48xlarge", "ml.m5.xlarge"): "accelerator",
            }.items()
        ),
        ({"threads_per_core": 0}, Code.THREADS_PER_CORE, "threads_per_core", ["1 to 2"]),
        ({"threads_per_core": 3}, Code.THREADS_PER_CORE, "threads_per_core", ["1 to 2"]),
        (
            {"instance_type": "ml.c7g.16xlarge", "threads_per_core": 2},
            Code.THREADS_PER_CORE,
            "threads_per_core",
            ["ml.c7g.16xlarge has one thread per core,"],
        ),
        *(
            ({"image_id": image}, Code.IMAGE_ID, "image_id", ["`ami-`", f"given:   {image!r}"])
            for image in ("my-image", "ami-xyz", "ami-0123", "ami-0123456789abcdef01", "", "Default")
        ),
        *(
            ({"image_release_version": version}, Code.IMAGE_RELEASE, "image_release_version", ["three numbers"])
            for version in ("1.2", "latest", "v1.2.3", "1.2.3-beta", "1." + "2" * 64 + ".3")
        ),
        (
            {"image_id": "ami-0123456789abcdef0", "image_release_version": "1.2.3"},
            Code.IMAGE_RELEASE,
            "image_release_version",
            ["remove the release, or the image"],
        ),
        (
            {"on_create": "on_create.sh"},
            Code.LIFECYCLE_BOTH_HOOKS,
            "on_create",
            ["exclude each other", "keep OnInitComplete"],
        ),
        *(
            ({"on_create": script, "on_init_complete": None}, Code.LIFECYCLE_SCRIPT, "on_create", [said])
            for script, said in {
                "": "is empty",
                " ": "is empty",
                "s" * 129: "is 129 characters long",
                "s3://bucket/on_create.sh": "is a path or a URL",
                "/opt/on_create.sh": "is a path or a URL",
            }.items()
        ),
        *(
            (
                {"scheduled_update": ScheduledUpdate(schedule_expression=expression)},
                Code.SCHEDULE,
                "scheduled_update.schedule_expression",
                ["cron(0 3 ? * SUN *)"],
            )
            for expression in ("rate(1 day)", "0 3 * * 0", "cron(0 3 * * 0)", "cron(0 3 * * * *)")
        ),
    ],
)
def test_one_mistake_is_reported_once(changes: dict[str, Any], code: Code, where: str, said: list[str]):
    name = changes.get("name", "worker-group")
    check_one(check_cluster(cluster_with(**changes)), code, f"groups.{name}.{where}", *said)


@pytest.mark.parametrize(
    ("changes", "code", "where", "said"),
    [
        ({"maximum_batch_size": BatchSize.nodes(0)}, Code.BATCH_SIZE, "maximum_batch_size.value", "at least 1"),
        ({"maximum_batch_size": BatchSize.percent(101)}, Code.BATCH_SIZE, "maximum_batch_size.value", "101 percent"),
        (
            {"rollback_maximum_batch_size": BatchSize.nodes(-1)},
            Code.BATCH_SIZE,
            "rollback_maximum_batch_size.value",
            "must be at least",
        ),
        (
            {"maximum_batch_size": None, "rollback_maximum_batch_size": BatchSize.nodes(1)},
            Code.BATCH_SIZE,
            "maximum_batch_size",
            "of the update",
        ),
        ({"wait_interval_seconds": 3601}, Code.WAIT_INTERVAL, "wait_interval_seconds", "must be at most 3600"),
        ({"wait_interval_seconds": -1}, Code.WAIT_INTERVAL, "wait_interval_seconds", "must be at least"),
        ({"alarm_names": ("a",) * 11}, Code.ALARMS, "alarm_names", "must be at most 10"),
        ({"alarm_names": ("a", " ")}, Code.ALARMS, "alarm_names[1]", "is empty"),
        ({"alarm_names": ("a" * 256,)}, Code.ALARMS, "alarm_names[0]", "is 256 characters long"),
    ],
)
def test_invalid_deployments_are_reported(changes: dict[str, Any], code: Code, where: str, said: str):
    given: dict[str, Any] = {"maximum_batch_size": BatchSize.nodes(1), **changes}
    rolling = RollingUpdate(**given)
    schedule = ScheduledUpdate(schedule_expression="cron(0 3 ? * SUN *)", deployment=rolling)
    patch = AutoPatch(strategy=PatchingStrategy.WHEN_IDLE, deployment=rolling)
    for name, update in {"scheduled_update": schedule, "auto_patch": patch}.items():
        found = check_cluster(cluster_with(**{name: update}))
        check_one(found, code, f"groups.worker-group.{name}.deployment.{where}", said)


DRAIN = {"strategy": PatchingStrategy.DRAIN_FIRST}


@pytest.mark.parametrize(
    ("patch", "code", "where", "said"),
    [
        (
            {"idle_wait_window_seconds": 3599},
            Code.PATCH_IDLE_WINDOW,
            "idle_wait_window_seconds",
            "must be at least 3600",
        ),
        (
            {"idle_wait_window_seconds": 2160001},
            Code.PATCH_IDLE_WINDOW,
            "idle_wait_window_seconds",
            "must be at most 2160000",
        ),
        (
            {**DRAIN, "idle_wait_window_seconds": 3600},
            Code.PATCH_IDLE_WINDOW,
            "idle_wait_window_seconds",
            "has no effect with the strategy DrainFirst",
        ),
        ({**DRAIN, "drain_timeout_seconds": 5401}, Code.PATCH_DRAIN, "drain_timeout_seconds", "must be at most 5400"),
        ({"drain_timeout_seconds": 60}, Code.PATCH_DRAIN, "drain_timeout_seconds", "the strategy WhenIdle"),
        (
            {"strategy": PatchingStrategy.WHEN_ALL_IDLE, "on_drain_timeout": OnDrainTimeout.FORCE},
            Code.PATCH_DRAIN,
            "on_drain_timeout",
            "the strategy WhenAllIdle",
        ),
    ],
)
def test_invalid_auto_patch_settings_are_reported(patch: dict[str, Any], code: Code, where: str, said: str):
    given: dict[str, Any] = {"strategy": PatchingStrategy.WHEN_IDLE, **patch}
    found = check_cluster(cluster_with(auto_patch=AutoPatch(**given)))
    check_one(found, code, f"groups.worker-group.auto_patch.{where}", said)


def test_four_deep_health_checks_are_too_many():
    found = check_cluster(cluster_with(deep_health_checks=(*DeepHealthCheck, STRESS)))
    assert found[0].message == "the number of deep health checks must be at most 3"
    assert {problem.code for problem in found} == {Code.HEALTH_CHECK_NUMBER}


def test_deep_health_checks_require_an_accelerator():
    found = check_cluster(cluster(changed(CONTROLLER, deep_health_checks=(STRESS,)), WORKERS))
    where = "groups.controller-group.deep_health_checks"
    check_one(found, Code.HEALTH_CHECK_TYPE, where, "ml.m5.xlarge has no accelerator")


def test_a_suggested_partition_is_valid():
    found = check_cluster(cluster_with(name="worker_group", partition=None))
    assert "write a partition, e.g. `worker-group`" in [problem.remedy for problem in found]


def test_a_type_in_capitals_or_with_spaces_gets_a_suggestion():
    said = ["write `ml.trn1.32xlarge`", "lower case"]
    check_one(check_instance_type(" ML.TRN1.32XLARGE"), Code.INSTANCE_TYPE_UNKNOWN, "", *said)


@pytest.mark.parametrize("name", ["ml.p3.16xlarge", "banana", ""])
def test_no_misleading_suggestion(name: str):
    assert nearest_type(name) is None
    check_one(check_instance_type(name), Code.INSTANCE_TYPE_UNKNOWN, "", "write one of the allowed", "trn2")


def test_a_family_without_a_size_lists_its_sizes():
    check_one(check_instance_type("ml.p5"), Code.INSTANCE_TYPE_UNKNOWN, "", "allowed: ml.p5.4xlarge, ml.p5.48xlarge\n")
    assert sizes_of("p5") == ["4xlarge", "48xlarge"]


def test_a_type_newer_than_the_catalog_requires_instance_type_of():
    assert check_instance_type("ml.trn9.48xlarge") != []
    assert check_instance_type(InstanceType("ml.trn9.48xlarge")) != []
    assert check_instance_type(InstanceType.of("ml.trn9.48xlarge", network_cards=16)) == []
