"""What people in Studio may do, and whose name stands behind it."""

import json
from typing import Any

import pytest
from aws_cdk import aws_iam as iam

from llm_fleet import FleetError
from tests.sagemaker.studio.conftest import CLUSTER, TYPES, Synthesized


def text(value: Any) -> str:
    return json.dumps(value)


def test_people_manage_spaces_of_their_own_and_the_domains_alone(plain: Synthesized):
    statements = plain.statements()
    spaces = statements["OwnSpaces"]
    assert set(spaces["Action"]) == {f"sagemaker:{verb}Space" for verb in ("Create", "Delete", "Update")}
    owners = spaces["Condition"]["ArnLike"]["sagemaker:OwnerUserProfileArn"]
    assert all("user-profile/" in text(owner) and "*" not in text(owner) for owner in owners)
    for sid in ("OwnSpaces", "OwnAppsStart", "SharedAppsStart", "StudioOpen", "SpaceTags"):
        assert "DomainId" in text(statements[sid]["Resource"]), sid
    assert "*" not in text(statements["StudioOpen"]["Resource"])
    assert "ClusterList" not in statements
    assert "FileSystem" not in statements


def test_applications_write_the_log_that_says_why_one_did_not_start(plain: Synthesized):
    group, streams = plain.statements()["StudioLogGroup"], plain.statements()["StudioLog"]
    assert group["Action"] == ["logs:CreateLogGroup", "logs:DescribeLogStreams"]
    assert [one.partition(":log-group:")[2] for one in group["Resource"]] == [
        "/aws/sagemaker/studio",
        "/aws/sagemaker/studio:*",
    ]
    assert streams["Action"] == ["logs:CreateLogStream", "logs:PutLogEvents"]
    assert "log-group:/aws/sagemaker/studio:log-stream:" in text(streams["Resource"])
    assert "DomainId" in text(streams["Resource"])


def test_instances_beyond_those_allowed_are_refused_by_the_role(plain: Synthesized, full: Synthesized):
    for sid in ("OwnAppsStart", "SharedAppsStart"):
        condition = full.statements()[sid]["Condition"]
        assert condition["ForAllValues:StringEquals"] == {"sagemaker:InstanceTypes": TYPES}
        assert condition["Null"] == {"sagemaker:InstanceTypes": "false"}
        assert "Null" not in plain.statements()[sid]["Condition"]


def test_cloudtrail_tells_who_it_was(plain: Synthesized):
    (role,) = [
        one for one in plain.of_type("AWS::IAM::Role").values() if one["Description"] == "People in SageMaker Studio"
    ]
    (trust,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert set(trust["Action"]) == {"sts:AssumeRole", "sts:SetSourceIdentity"}
    assert trust["Principal"] == {"Service": "sagemaker.amazonaws.com"}
    assert plain.domain["DomainSettings"] == {"ExecutionRoleIdentityConfig": "USER_PROFILE_NAME"}


def test_clusters_are_reached_and_nothing_else(plain: Synthesized, full: Synthesized):
    assert plain.of_type("AWS::IAM::Policy") == {}
    (policy,) = full.of_type("AWS::IAM::Policy").values()
    starts = [one for one in policy["PolicyDocument"]["Statement"] if one["Action"] == "ssm:StartSession"]
    hyperpod, parallel = (next(one for one in starts if mark in text(one)) for mark in (CLUSTER, "resourceTag"))
    assert CLUSTER in hyperpod["Resource"]
    assert parallel["Condition"] == {"StringEquals": {"ssm:resourceTag/parallelcluster:cluster-name": "parallel"}}
    assert {"ClusterList", "FileSystem"} <= set(full.statements())


def test_a_person_is_let_in_as_one_user(plain: Synthesized):
    studio = plain.construct
    somebody = iam.User(studio, "Somebody")
    assert studio.grants.open(somebody, user="alice").success
    with pytest.raises(FleetError, match=r"LF119[\s\S]*write 'alice'"):
        studio.grants.open(somebody, user="alise")
