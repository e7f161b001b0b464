"""Whole clusters: valid clusters have no problems, all mistakes are reported together, tokens pass."""

from dataclasses import replace
from typing import Any

import pytest

from llm_fleet.catalog.hyperpod import InstanceType
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.hyperpod_cluster import check_cluster, check_group
from llm_fleet.rules.terms import DeepHealthCheck, PatchingStrategy, SlurmConfigStrategy
from llm_fleet.spec.hyperpod_cluster import PlacedCluster
from llm_fleet.spec.instance_group import AutoPatch, BatchSize, InstanceGroup, RollingUpdate, ScheduledUpdate
from llm_fleet.spec.model import bare
from tests.rules.findings import NUMBER_TOKEN, TOKEN
from tests.rules.hyperpod.shapes import (
    CONTROLLER,
    HOME,
    LOGIN,
    LUSTRE,
    WORKERS,
    changed,
    cluster,
    cluster_with,
    database,
)
from tests.rules.hyperpod.test_group_mistakes import PLAN, SIZES

SUNDAYS = "cron(0 3 ? * SUN *)"
ROLLING = RollingUpdate(maximum_batch_size=BatchSize.nodes(1), wait_interval_seconds=3600, alarm_names=("a",))
FULL = RollingUpdate(maximum_batch_size=BatchSize.percent(100))
NEW_TYPE = InstanceType.of("ml.trn9.48xlarge", network_cards=16, accelerator="neuron", accelerators=16)


@pytest.mark.parametrize(
    "good",
    [
        cluster(),
        cluster(CONTROLLER),
        cluster(CONTROLLER, LOGIN, WORKERS),
        cluster(CONTROLLER, WORKERS, changed(WORKERS, name="more-workers")),
        cluster(cluster_name=None, region=None, account=None, availability_zone_id=None),
        cluster(mounts=(), has_vpc=False, subnet_ids=(), security_group_ids=(), availability_zone_id=None),
        cluster(mounts=(LUSTRE, HOME)),
        cluster(node_provisioning_mode=None, slurm_config_strategy=SlurmConfigStrategy.MANAGED),
        cluster(accounting_database=database(port=3307, database_name="slurm_acct_db")),
        cluster(tags={}),
        cluster_with(count=0),
        cluster_with(count=6758, min_count=0),
        cluster_with(instance_type=None, instance_types=("ml.p5.48xlarge", "ml.p5en.48xlarge")),
        cluster_with(instance_type=NEW_TYPE),
        cluster_with(on_create="on_create.sh", on_init_complete=None),
        cluster_with(on_create=None, on_init_complete=None),
        cluster_with(threads_per_core=1, ebs_volume_gib=16384, spot=True),
        cluster_with(deep_health_checks=tuple(DeepHealthCheck)),
        cluster_with(training_plan_arn=PLAN, training_plan_availability_zone_id="usw2-az4"),
        cluster_with(image_id="ami-0123456789abcdef0"),
        cluster_with(image_id="default", image_release_version="1.2.3"),
        cluster_with(subnets=("subnet-0abc",), security_groups=("sg-0abc",)),
        cluster_with(availability_zone_id="usw2-az1", mount_lustre=False),
        cluster_with(instance_type="ml.c7g.16xlarge", threads_per_core=1),
        cluster_with(instance_type="ml.c6i.16xlarge", threads_per_core=2),
        cluster_with(instance_type=None, instance_types=SIZES[:20]),
        cluster(subnet_ids=("subnet-0abc",) * 16),
        cluster(security_group_ids=("sg-0abc",) * 5),
        replace(cluster_with(training_plan_arn=PLAN.replace("us-west-2", "us-east-1")), region=None, account=None),
        *(cluster(cluster_name=name) for name in ("a", "A1", "a--b", "9", "a" * 63)),
        cluster_with(scheduled_update=ScheduledUpdate(schedule_expression=SUNDAYS, deployment=ROLLING)),
        cluster_with(auto_patch=AutoPatch(strategy=PatchingStrategy.WHEN_IDLE, idle_wait_window_seconds=3600)),
        cluster_with(auto_patch=AutoPatch(strategy=PatchingStrategy.WHEN_IDLE, deployment=FULL)),
        cluster_with(auto_patch=AutoPatch(strategy=PatchingStrategy.DRAIN_FIRST, drain_timeout_seconds=0)),
    ],
)
def test_valid_clusters_have_no_problems(good: PlacedCluster):
    assert check_cluster(good) == []


def test_all_mistakes_are_reported_together():
    found = check_cluster(
        cluster(
            changed(CONTROLLER, partition="heads"),
            changed(WORKERS, name="worker_group", instance_type="trn1.32xlarge", count=-1),
            cluster_name="ml_cluster",
            slurm_config_strategy=SlurmConfigStrategy.MERGE,
        )
    )
    assert {problem.code for problem in found} == {
        Code.PARTITION_MISPLACED,
        Code.GROUP_NAME,
        Code.INSTANCE_TYPE_PREFIX,
        Code.INSTANCE_COUNT,
        Code.CLUSTER_NAME,
        Code.STRATEGY_WITH_CONTINUOUS,
    }


def test_the_path_of_a_problem_in_a_cluster_has_the_name_of_the_group():
    (problem,) = check_cluster(cluster_with(instance_type="trn1.32xlarge"))
    assert problem.where == "groups.worker-group.instance_type"


def test_the_path_of_a_problem_in_a_single_group_has_its_attributes():
    (problem,) = check_group(changed(WORKERS, instance_type="trn1.32xlarge"))
    assert problem.path == ("instance_type",)


def _tokens(group: InstanceGroup) -> dict[str, Any]:
    """Every field of `group` that is text or a number, as a token."""
    types = {name: bare(field.annotation) for name, field in type(group).model_fields.items()}
    return {name: TOKEN if type is str else NUMBER_TOKEN for name, type in types.items() if type in (str, int)}


def test_tokens_pass():
    unknown = changed(WORKERS, **_tokens(WORKERS) | {"on_create": None, "image_release_version": None})
    deployment = RollingUpdate(
        maximum_batch_size=BatchSize.nodes(NUMBER_TOKEN),  # pyright: ignore[reportArgumentType]
        wait_interval_seconds=NUMBER_TOKEN,  # pyright: ignore[reportArgumentType]
        alarm_names=(TOKEN,),
    )
    several = changed(
        WORKERS,
        instance_type=None,
        instance_types=(TOKEN,),
        subnets=(TOKEN,),
        security_groups=(TOKEN,),
        scheduled_update=ScheduledUpdate(schedule_expression=TOKEN, deployment=deployment),
        auto_patch=AutoPatch(strategy=PatchingStrategy.WHEN_IDLE, idle_wait_window_seconds=NUMBER_TOKEN),  # pyright: ignore[reportArgumentType]
    )
    found = check_cluster(
        cluster(
            groups=(changed(CONTROLLER, count=NUMBER_TOKEN), unknown, several),
            cluster_name=TOKEN,
            region=TOKEN,
            account=TOKEN,
            subnet_ids=(TOKEN,),
            security_group_ids=(TOKEN,),
            availability_zone_id=TOKEN,
            mounts=(replace(LUSTRE, mount_path=TOKEN, availability_zone_id=TOKEN),),
            accounting_database=database(
                endpoint=TOKEN,
                secret=TOKEN,
                port=NUMBER_TOKEN,
                database_name=TOKEN,
            ),
            lifecycle_source_s3_uri=TOKEN,
            tags={TOKEN: TOKEN},
        )
    )
    assert found == []


def test_a_hundred_groups_are_allowed_and_one_more_is_not():
    groups = [changed(WORKERS, name=f"workers-{number}") for number in range(99)]
    assert check_cluster(cluster(CONTROLLER, *groups)) == []
    (problem,) = check_cluster(cluster(CONTROLLER, *groups, LOGIN))
    assert (problem.code, problem.path, problem.value) == (Code.GROUP_NUMBER, ("groups",), 101)
    assert problem.allowed == "1 to 100 (HyperPod's CreateCluster API)"
