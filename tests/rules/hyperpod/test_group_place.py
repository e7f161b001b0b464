from dataclasses import replace

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.hyperpod_cluster import check_cluster
from llm_fleet.rules.terms import DeepHealthCheck
from llm_fleet.spec.instance_group import InstanceGroup
from tests.rules.hyperpod.findings import TOKEN, only
from tests.rules.hyperpod.shapes import CONTROLLER, WORKERS, changed, cluster, cluster_with

GROUP = ("groups", "worker-group")


@pytest.mark.parametrize(
    ("attribute", "one", "limit", "code"),
    [
        ("subnet_ids", "subnet-0abc", 16, Code.SUBNET_NUMBER),
        ("security_group_ids", "sg-0abc", 5, Code.SECURITY_GROUP_NUMBER),
    ],
)
def test_number_of_subnets_and_security_groups(attribute: str, one: str, limit: int, code: Code):
    assert check_cluster(cluster(**{attribute: (one,) * limit})) == []
    problem = only(check_cluster(cluster(**{attribute: (one,) * (limit + 1)})), code, attribute)
    assert f"is above {limit}" in problem.message


def test_tokens_are_counted_too():
    only(check_cluster(cluster(subnet_ids=(TOKEN,) * 17)), Code.SUBNET_NUMBER, "subnet_ids")


@pytest.mark.parametrize(
    ("attribute", "value", "in_remedy"),
    [
        ("subnet_ids", "compute-subnet", "'subnet-…'"),
        ("security_group_ids", "default", "'sg-…'"),
        ("security_group_ids", "sg-" + "0" * 30, "'sg-…'"),
    ],
)
def test_names_in_place_of_ids(attribute: str, value: str, in_remedy: str):
    problem = only(check_cluster(cluster(**{attribute: (value,)})), Code.SUBNET_ID, attribute, 0)
    assert in_remedy in problem.remedy


def test_override_without_a_vpc():
    found = check_cluster(cluster_with(subnets=("subnet-0abc",), security_groups=("sg-0abc",)))
    assert found == []
    spoilt = cluster(
        *cluster_with(subnets=("subnet-0abc",), security_groups=("sg-0abc",)).groups,
        has_vpc=False,
        subnet_ids=(),
        security_group_ids=(),
        mounts=(),
    )
    problem = only(check_cluster(spoilt), Code.OVERRIDE_WITHOUT_VPC, *GROUP, "subnets")
    assert problem.value == ["subnet-0abc"]


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"subnets": ("subnet-0abc",)}, "security_groups"),
        ({"security_groups": ("sg-0abc",)}, "subnets"),
    ],
)
def test_override_of_one_half(given: dict[str, tuple[str]], missing: str):
    only(check_cluster(cluster_with(**given)), Code.OVERRIDE_INCOMPLETE, *GROUP, missing)


def test_region_without_hyperpod():
    found = check_cluster(cluster(region="eu-west-3", availability_zone_id=None, mounts=()))
    problem = only(found, Code.REGION_WITHOUT_HYPERPOD, "region")
    assert "eu-west-1" in problem.allowed
    assert "eu-west-3" not in problem.allowed


def test_zone_of_another_region():
    found = check_cluster(cluster_with(availability_zone_id="use1-az4", mount_lustre=False))
    problem = only(found, Code.ZONE_REGION, *GROUP, "availability_zone_id")
    assert problem.message == "use1-az4 is in us-east-1, not in us-west-2"


@pytest.mark.parametrize(
    ("group", "zone"),
    [
        (WORKERS, "usw2-az4"),
        (changed(WORKERS, availability_zone_id="usw2-az1"), "usw2-az1"),
        (changed(WORKERS, subnets=("subnet-0abc",)), None),
        (changed(WORKERS, subnets=("subnet-0abc",), availability_zone_id="usw2-az1"), "usw2-az1"),
    ],
)
def test_zone_of_a_group(group: InstanceGroup, zone: str | None):
    assert cluster().zone_of(group) == zone


PLAN = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/p5-november"


@pytest.mark.parametrize(
    "arn",
    [
        "p5-november",
        "arn:aws:sagemaker:us-west-2:111122223333:training-job/p5-november",
        "arn:aws:sagemaker:us-west-2:1111:training-plan/p5-november",
        "arn:aws:sagemaker:us-west-2:111122223333:training-plan/",
        "",
    ],
)
def test_text_that_is_no_training_plan(arn: str):
    problem = only(
        check_cluster(cluster_with(training_plan_arn=arn)), Code.TRAINING_PLAN_ARN, *GROUP, "training_plan_arn"
    )
    assert "list-training-plans" in problem.remedy


@pytest.mark.parametrize(
    ("arn", "in_message"),
    [
        (PLAN.replace("us-west-2", "us-east-1"), "of region us-east-1, and the cluster of us-west-2"),
        (PLAN.replace("111122223333", "444455556666"), "of account 444455556666, and the cluster of 111122223333"),
        (PLAN.replace("arn:aws:", "arn:aws-cn:"), "of partition aws-cn, and the cluster of aws"),
    ],
)
def test_training_plan_of_elsewhere(arn: str, in_message: str):
    found = check_cluster(cluster_with(training_plan_arn=arn))
    problem = only(found, Code.TRAINING_PLAN_ELSEWHERE, *GROUP, "training_plan_arn")
    assert in_message in problem.message


def test_training_plan_passes_where_the_cluster_stands_is_unknown():
    unknown = replace(cluster_with(training_plan_arn=PLAN.replace("us-west-2", "us-east-1")), region=None, account=None)
    assert check_cluster(unknown) == []


def test_training_plan_in_another_zone():
    found = check_cluster(cluster_with(training_plan_arn=PLAN, training_plan_availability_zone_id="usw2-az2"))
    problem = only(found, Code.TRAINING_PLAN_ZONE, *GROUP, "availability_zone_id")
    assert "plan is in usw2-az2, and the group in usw2-az4" in problem.message


def test_spot_with_a_training_plan():
    found = check_cluster(cluster_with(training_plan_arn=PLAN, spot=True))
    only(found, Code.SPOT_WITH_PLAN, *GROUP, "spot")


def test_deep_health_check_twice():
    checks = (DeepHealthCheck.INSTANCE_STRESS, DeepHealthCheck.INSTANCE_STRESS)
    problem = only(
        check_cluster(cluster_with(deep_health_checks=checks)), Code.HEALTH_CHECK_NUMBER, *GROUP, "deep_health_checks"
    )
    assert "InstanceStress stands 2 times" in problem.message


def test_four_deep_health_checks():
    checks = (*DeepHealthCheck, DeepHealthCheck.INSTANCE_STRESS)
    found = check_cluster(cluster_with(deep_health_checks=checks))
    assert found[0].message == "the number of deep health checks is above 3"
    assert {problem.code for problem in found} == {Code.HEALTH_CHECK_NUMBER}


def test_deep_health_checks_without_an_accelerator():
    controller = changed(CONTROLLER, deep_health_checks=(DeepHealthCheck.INSTANCE_STRESS,))
    problem = only(
        check_cluster(cluster(controller, WORKERS)),
        Code.HEALTH_CHECK_TYPE,
        "groups",
        "controller-group",
        "deep_health_checks",
    )
    assert "ml.m5.xlarge has none" in problem.message
