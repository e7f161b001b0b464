"""An instance group in Python: values of its fields, and the script that its nodes run."""

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from llm_fleet import DeepHealthCheck, FleetError, InstanceGroup, Lifecycle
from llm_fleet.spec.references import KEY

KEY_ARN = "arn:aws:kms:us-west-2:111122223333:key/01234567-89ab-cdef-0123-456789abcdef"
ROLE_ARN = "arn:aws:iam::111122223333:role/hyperpod-nodes"


def workers(**options: Any) -> InstanceGroup:
    return InstanceGroup.workers("trn1", "ml.trn1.32xlarge", count=4, **options)


def problem_of(**options: Any) -> tuple[str, tuple[str | int, ...], str]:
    with pytest.raises(FleetError) as caught:
        workers(**options)
    (problem,) = caught.value.problems
    return problem.code.value, problem.path, problem.remedy


def test_a_field_accepts_constructs_and_their_names(stack: cdk.Stack) -> None:
    key = kms.Key(stack, "Key")
    subnet = ec2.Subnet.from_subnet_id(stack, "Subnet", "subnet-0abc")
    group = ec2.SecurityGroup.from_security_group_id(stack, "Group", "sg-0abc")
    role = iam.Role.from_role_arn(stack, "Role", ROLE_ARN)
    made = workers(root_volume_key=key, subnets=[subnet], security_groups=[group], execution_role=role)
    named = workers(
        root_volume_key=KEY_ARN, subnets=("subnet-0abc",), security_groups=["sg-0abc"], execution_role=ROLE_ARN
    )
    assert KEY.name_of(made.root_volume_key) == key.key_arn
    assert KEY.name_of(named.root_volume_key) == KEY_ARN
    assert made.subnet_ids == named.subnet_ids == ("subnet-0abc",)
    assert made.security_group_ids == named.security_group_ids == ("sg-0abc",)
    assert made.execution_role_arn == named.execution_role_arn == ROLE_ARN


@pytest.mark.parametrize(
    ("options", "code", "path", "in_remedy"),
    [
        ({"root_volume_key": 3}, "LF113", ("root_volume_key",), "a KMS key of the CDK, or its ARN"),
        ({"root_volume_key": "alias/mine"}, "LF116", ("root_volume_key",), "arn:aws:kms"),
        ({"execution_role": "mine"}, "LF116", ("execution_role",), "arn:aws:iam"),
        ({"subnets": [3]}, "LF113", ("subnets", 0), "a subnet of the CDK, or its id"),
        ({"lifecycle": False}, "LF114", ("lifecycle",), "Lifecycle.ON_INIT_COMPLETE"),
        ({"deep_health_checks": ["InstanceStress"]}, "LF114", ("deep_health_checks", 0), "DeepHealthCheck."),
        ({"thread_per_core": 1}, "LF110", ("thread_per_core",), "threads_per_core"),
    ],
)
def test_wrong_values_are_rejected_at_their_fields(
    options: dict[str, Any], code: str, path: tuple[str | int, ...], in_remedy: str
) -> None:
    found, where, remedy = problem_of(**options)
    assert (found, where) == (code, path)
    assert in_remedy in remedy


def test_values_of_the_api_are_only_in_python() -> None:
    assert workers(deep_health_checks=[DeepHealthCheck.MULTI_NODE_TRAINING_VALIDATION]).deep_health_checks
    keys = InstanceGroup.keys()
    assert "image_release_version" not in keys


def test_lifecycle_of_a_group_has_priority_over_that_of_the_cluster() -> None:
    once = workers().running(Lifecycle.ON_CREATE, None)
    assert (once.on_create, once.on_init_complete) == ("on_create.sh", None)
    assert once.running(Lifecycle.ON_INIT_COMPLETE, "go.sh") == once
    never = workers().running(Lifecycle.NONE, None)
    assert never.script is None
    assert never.running(Lifecycle.ON_CREATE, None) == never
    assert workers(lifecycle=Lifecycle.ON_CREATE).running(Lifecycle.ON_INIT_COMPLETE, "go.sh").on_create == "go.sh"
