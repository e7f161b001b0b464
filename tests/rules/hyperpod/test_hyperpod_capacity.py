from dataclasses import replace

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod_cluster import check_cluster
from llm_fleet.rules.terms import DeepHealthCheck
from tests.rules.hyperpod.findings import only
from tests.rules.hyperpod.shapes import CONTROLLER, WORKERS, changed, cluster, cluster_with

GROUP = ("groups", "worker-group")
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
