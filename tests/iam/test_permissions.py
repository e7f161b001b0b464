"""The statements themselves, without the CDK."""

import json
import os
from dataclasses import fields
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.iam.node_role import NodeFeatures, permissions
from llm_fleet.iam.session_document import keep_sessions, use_sessions
from llm_fleet.iam.statements import BucketAccess, Permission, Place, SecretAccess, describe
from llm_fleet.rules.values import policy_size
from tests.pages import CONSTRUCTS, check_made

HERE = Path(__file__).parent
PLACE = Place(partition="aws", region="us-west-2", account="111122223333")
_KEY = "arn:aws:kms:us-west-2:111122223333:key/"
_BUNDLE = BucketAccess(bucket_arn="arn:aws:s3:::sagemaker-demo", prefix="bundles/demo/train")

FEATURE_SETS = {
    "none": NodeFeatures(),
    "bundle": NodeFeatures(cluster_name="train", bundle=_BUNDLE),
    "vpc": NodeFeatures(cluster_name="train", bundle=_BUNDLE, vpc=True),
    "existing": NodeFeatures(cluster_name="train", bundle=_BUNDLE, vpc=True, existing_subnets=True),
    "lustre": NodeFeatures(cluster_name="train", bundle=_BUNDLE, vpc=True, efa_file_system=True),
    "all": NodeFeatures(
        cluster_name="train",
        bundle=BucketAccess(bucket_arn=_BUNDLE.bucket_arn, prefix=_BUNDLE.prefix, key_arn=f"{_KEY}bundle"),
        vpc=True,
        existing_subnets=True,
        efa_file_system=True,
        read_buckets=(BucketAccess(bucket_arn="arn:aws:s3:::demo-data"),),
        write_buckets=(BucketAccess(bucket_arn="arn:aws:s3:::demo-models", prefix="train", key_arn=f"{_KEY}models"),),
        reports=BucketAccess(bucket_arn="arn:aws:s3:::demo-reports", prefix="train", key_arn=f"{_KEY}reports"),
        report_events=True,
        mirror=BucketAccess(bucket_arn="arn:aws:s3:::demo-mirror", prefix="packages"),
        accounting_secret=SecretAccess(
            secret_arn="arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf", key_arn=f"{_KEY}secret"
        ),
        directory_secret=SecretAccess(
            secret_arn="arn:aws:secretsmanager:us-west-2:111122223333:secret:reader-AbCdEf", key_arn=f"{_KEY}reader"
        ),
        hub_token_secret=SecretAccess(
            secret_arn="arn:aws:secretsmanager:us-west-2:111122223333:secret:hub-AbCdEf", key_arn=f"{_KEY}hub"
        ),
        rollback_alarms=("gpu-errors",),
        image_repositories=("arn:aws:ecr:us-west-2:111122223333:repository/trainer",),
        metrics_workspaces=("arn:aws:aps:us-west-2:111122223333:workspace/ws-1",),
        metrics_log_group="/llm-fleet/metrics/train",
    ),
}


@pytest.mark.parametrize("name", FEATURE_SETS)
def test_golden_policy(name: str) -> None:
    golden = HERE / "golden" / f"{name}.json"
    made = json.dumps([_plain(one) for one in permissions(FEATURE_SETS[name], PLACE)], indent=2) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(made, encoding="utf-8")
    assert made == golden.read_text(encoding="utf-8")


def test_the_generated_table_in_the_docs_is_up_to_date() -> None:
    check_made(CONSTRUCTS / "node-role.md", statements=describe(permissions(FEATURE_SETS["all"], PLACE)))


MADE = {name: permissions(features, PLACE) for name, features in FEATURE_SETS.items()} | {
    "sessions of people": use_sessions(f"{_KEY}sessions"),
    "sessions of nodes": keep_sessions(
        key_arn=f"{_KEY}sessions",
        log_group_arn="arn:aws:logs:us-west-2:111122223333:log-group:/sessions:*",
        bucket=BucketAccess(bucket_arn="arn:aws:s3:::demo-sessions", prefix="sessions", key_arn=f"{_KEY}log"),
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_every_statement_has_a_unique_id_a_reason_and_actions_without_wildcards(name: str) -> None:
    made = MADE[name]
    assert len({one.sid for one in made}) == len(made)
    for one in made:
        assert one.sid.isalnum()
        assert len(one.reason) >= 20
        assert not one.reason.endswith(".")
        assert one.actions
        assert not any("*" in action for action in one.actions)


def test_star_resources_only_where_the_service_supports_no_resource() -> None:
    for one in (*MADE["all"], *MADE["sessions of people"], *MADE["sessions of nodes"]):
        for action in one.actions:
            kinds = _known_resources(action)
            # Since 2026 PutMetricData supports data sets, which are not used here; a condition limits its namespace.
            if action == "cloudwatch:PutMetricData":
                namespace = {"PlatformMetrics": "/aws/sagemaker/Clusters", "FailureMetric": "LlmFleet/Nodes"}[one.sid]
                assert one.conditions["StringEquals"]["cloudwatch:namespace"] == namespace
            elif one.sid != "RollbackAlarms":  # see test_describe_alarms_allows_all_alarms_because_of_composite_alarms
                assert (one.resources == ("*",)) == (not kinds), f"{action} knows {kinds}"


@pytest.mark.parametrize(
    ("sid", "kinds"),
    [
        ("NetworkInterfaces", {"network-interface", "security-group", "subnet"}),
        ("NetworkInterfaceDetach", {"network-interface", "instance"}),
        ("NetworkInterfaceTags", {"network-interface"}),
    ],
)
def test_network_statements_name_the_resources_that_ec2_requires(sid: str, kinds: set[str]) -> None:
    one = next(one for one in permissions(FEATURE_SETS["vpc"], PLACE) if one.sid == sid)
    named = {resource.rsplit(":", 1)[1].removesuffix("/*") for resource in one.resources}
    assert named == kinds
    required = {kind for action in one.actions for kind in _known_resources(action)}
    assert named <= required
    if sid != "NetworkInterfaceTags":  # CreateTags supports every kind; only interfaces are tagged
        assert named == required


def test_only_the_buckets_of_features_can_be_read() -> None:
    made = permissions(FEATURE_SETS["vpc"], PLACE)
    touched = {resource for one in made if any(a.startswith("s3:") for a in one.actions) for resource in one.resources}
    assert touched == {"arn:aws:s3:::sagemaker-demo", "arn:aws:s3:::sagemaker-demo/bundles/demo/train/*"}


def test_the_bundle_can_be_read_and_not_written() -> None:
    actions = {
        action
        for one in permissions(FEATURE_SETS["bundle"], PLACE)
        if "sagemaker-demo" in "".join(one.resources)
        for action in one.actions
    }
    assert actions == {"s3:GetObject", "s3:ListBucket"}


def test_failed_starts_can_be_published_only_with_one_namespace_and_one_event_source() -> None:
    made = {one.sid: one for one in permissions(NodeFeatures(report_events=True), PLACE)}
    event = made["FailureEvent"]
    assert event.resources == ("arn:aws:events:us-west-2:111122223333:event-bus/default",)
    assert event.conditions["ForAllValues:StringEquals"] == {"events:source": "llm-fleet.node"}
    assert event.conditions["Null"] == {"events:source": "false"}, "an event without a source must not slip through"
    assert made["FailureMetric"].conditions == {"StringEquals": {"cloudwatch:namespace": "LlmFleet/Nodes"}}


def test_reports_can_be_written_and_not_read() -> None:
    reports = BucketAccess(bucket_arn="arn:aws:s3:::sagemaker-demo", prefix="reports/demo/train")
    touching = [one for one in permissions(NodeFeatures(reports=reports), PLACE) if "demo" in "".join(one.resources)]
    assert [(one.actions, one.resources) for one in touching] == [
        (("s3:PutObject",), ("arn:aws:s3:::sagemaker-demo/reports/demo/train/*",))
    ]


def test_all_features_are_covered_and_the_directory_secret_is_one_secret() -> None:
    unset = NodeFeatures()
    same = [one.name for one in fields(unset) if getattr(FEATURE_SETS["all"], one.name) == getattr(unset, one.name)]
    assert not same, "golden/all.json and the page about the role do not cover these"
    statements = {one.sid: one for one in MADE["all"]}
    assert statements["DirectorySecret"].resources == (
        "arn:aws:secretsmanager:us-west-2:111122223333:secret:reader-AbCdEf",
    )
    assert statements["DirectorySecretKey"].actions == ("kms:Decrypt",)


def test_nodes_can_write_logs_of_sessions_and_not_read_them() -> None:
    made = {one.sid: one for one in MADE["sessions of nodes"]}
    assert {action for one in made.values() for action in one.actions if action.startswith(("s3:", "kms:"))} == {
        "kms:Decrypt", "kms:GenerateDataKey", "s3:GetEncryptionConfiguration", "s3:PutObject"
    }  # fmt: skip
    assert made["SessionBucket"].resources == ("arn:aws:s3:::demo-sessions/sessions/*",)
    # Without this, a bucket with its own key would reject the log, long after the session.
    assert made["SessionBucketKey"].resources == (f"{_KEY}log",)
    assert keep_sessions(key_arn=None, log_group_arn=None, bucket=None) == ()


def test_a_whole_bucket_is_listed_without_a_condition() -> None:
    features = NodeFeatures(read_buckets=(BucketAccess(bucket_arn="arn:aws:s3:::data"),))
    listing = next(one for one in permissions(features, PLACE) if one.sid == "Read1List")
    assert not listing.conditions


def test_arns_follow_the_partition() -> None:
    made = permissions(NodeFeatures(vpc=True), Place(partition="aws-cn", region="cn-north-1", account="1"))
    arns = [resource for one in made for resource in one.resources if resource != "*"]
    assert arns
    assert all(arn.startswith("arn:aws-cn:") and ":cn-north-1:" in arn for arn in arns)


def test_a_policy_too_long_for_iam_is_rejected() -> None:
    assert policy_size(6144) == []
    (problem,) = policy_size(6145)
    assert problem.code.value == "LF420"
    assert "several prefixes of one bucket" in problem.remedy


def _plain(one: Permission) -> dict[str, Any]:
    return {
        "Sid": one.sid,
        "Action": list(one.actions),
        "Resource": list(one.resources),
        "Condition": {operator: dict(keys) for operator, keys in one.conditions.items()},
        "reason": one.reason,
    }


@cache
def _service_reference() -> dict[str, Any]:
    """AWS's service authorization reference, as included in cfn-lint."""
    spec = find_spec("cfnlint")
    assert spec is not None
    assert spec.origin is not None
    data = Path(spec.origin).parent / "data" / "AdditionalSpecs" / "Policies.json"
    return json.loads(data.read_text(encoding="utf-8"))


def _known_resources(action: str) -> list[str]:
    service, name = action.split(":")
    return _service_reference()[service]["Actions"][name.lower()].get("Resources", [])


def test_describe_alarms_allows_all_alarms_because_of_composite_alarms() -> None:
    (alarms,) = [one for one in permissions(FEATURE_SETS["all"], PLACE) if one.sid == "RollbackAlarms"]
    assert (alarms.actions, alarms.resources) == (("cloudwatch:DescribeAlarms",), ("*",))
