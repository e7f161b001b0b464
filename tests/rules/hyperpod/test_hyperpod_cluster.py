"""Whole clusters: good ones give nothing, all mistakes are told at once, tokens pass."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from llm_fleet.catalog.hyperpod import InstanceType
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.hyperpod_cluster import check_cluster, check_group
from llm_fleet.rules.terms import DeepHealthCheck, NodeProvisioningMode, PatchingStrategy, SlurmConfigStrategy
from llm_fleet.spec.hyperpod_cluster import PlacedCluster
from llm_fleet.spec.instance_group import AutoPatch, BatchSize, InstanceGroup, RollingUpdate, ScheduledUpdate
from llm_fleet.spec.shape import bare
from tests.rules.hyperpod.findings import NUMBER_TOKEN, TOKEN, only
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

SUNDAYS = "cron(0 3 ? * SUN *)"
ROLLING = RollingUpdate(maximum_batch_size=BatchSize.nodes(1), wait_interval_seconds=3600, alarm_names=("a",))
PLAN = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/p5-november"
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
        cluster_with(
            scheduled_update=ScheduledUpdate(
                schedule_expression="cron(0 3 ? * SUN *)",
                deployment=RollingUpdate(
                    maximum_batch_size=BatchSize.nodes(1), wait_interval_seconds=3600, alarm_names=("a",)
                ),
            )
        ),
        cluster_with(auto_patch=AutoPatch(strategy=PatchingStrategy.WHEN_IDLE, idle_wait_window_seconds=3600)),
        cluster_with(auto_patch=AutoPatch(strategy=PatchingStrategy.DRAIN_FIRST, drain_timeout_seconds=0)),
    ],
)
def test_good_clusters_give_nothing(good: PlacedCluster):
    assert check_cluster(good) == []


def test_all_mistakes_are_told_at_once():
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


def test_group_is_addressed_by_its_name():
    (problem,) = check_cluster(cluster_with(instance_type="trn1.32xlarge"))
    assert problem.where == "groups.worker-group.instance_type"


def test_group_by_itself_is_addressed_by_its_attributes():
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


def test_a_hundred_groups_fit_and_one_more_does_not():
    groups = [changed(WORKERS, name=f"workers-{number}") for number in range(99)]
    assert check_cluster(cluster(CONTROLLER, *groups)) == []
    (problem,) = check_cluster(cluster(CONTROLLER, *groups, LOGIN))
    assert (problem.code, problem.path, problem.value) == (Code.GROUP_NUMBER, ("groups",), 101)
    assert problem.allowed == "1 to 100"


def test_without_continuous_a_strategy_is_asked_for():
    (problem,) = check_cluster(cluster(node_provisioning_mode=None))
    assert problem.code is Code.STRATEGY_MISSING
    assert "Merge" in problem.remedy
    assert check_cluster(cluster(node_provisioning_mode=NodeProvisioningMode.CONTINUOUS)) == []


@pytest.mark.parametrize("strategy", list(SlurmConfigStrategy))
def test_strategy_with_continuous(strategy: SlurmConfigStrategy):
    found = check_cluster(cluster(slurm_config_strategy=strategy))
    problem = only(found, Code.STRATEGY_WITH_CONTINUOUS, "slurm_config_strategy")
    assert problem.value == strategy.value
    assert problem.remedy.startswith("drop the strategy")


def test_no_strategy_without_continuous():
    problem = only(check_cluster(cluster(node_provisioning_mode=None)), Code.STRATEGY_MISSING, "slurm_config_strategy")
    assert problem.allowed == "Overwrite, Managed, Merge"


def test_accounting_database_without_continuous():
    found = check_cluster(
        cluster(
            node_provisioning_mode=None,
            slurm_config_strategy=SlurmConfigStrategy.MERGE,
            accounting_database=database(),
        )
    )
    only(found, Code.ACCOUNTING_NOT_CONTINUOUS, "accounting_database")


@pytest.mark.parametrize(
    ("field", "value", "in_remedy"),
    [
        ("endpoint", "mysql://db:3306", "host name alone"),
        ("endpoint", "", "host name alone"),
        ("port", 0, "3306"),
        ("port", 65536, "3306"),
        ("database_name", "slurm-db", "letters, digits, $ and _"),
        ("database_name", "d" * 65, "letters, digits, $ and _"),
        ("secret_arn", "slurm-secret-with-a-long-name", "whole ARN"),
    ],
)
def test_fields_of_the_accounting_database(field: str, value: Any, in_remedy: str):
    # A secret of the CDK may be one that was imported by its name alone.
    given = {"secret": SimpleNamespace(secret_arn=value)} if field == "secret_arn" else {field: value}
    found = check_cluster(cluster(accounting_database=database(**given)))
    problem = only(found, Code.ACCOUNTING_DATABASE, "accounting_database", field)
    assert problem.value == value
    assert in_remedy in problem.remedy
