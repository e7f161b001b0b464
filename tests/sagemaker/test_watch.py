"""The watch: its template, the settings of its function, and errors."""

import json
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms
from aws_cdk.assertions import Annotations, Match
from constructs import Construct
from moto.events.models import EventPattern

from llm_fleet import (
    CheckpointLayout,
    FleetError,
    JobWatch,
    Stall,
    TrainingWatch,
    WatchConditions,
    WatchedJobs,
    WatchSpec,
)
from llm_fleet.catalog.training_job import training_watch_facts
from llm_fleet.functions.training_watch.checkpoints import Layout
from llm_fleet.functions.training_watch.settings import WATCH_TAG, DeployedEnvironment
from llm_fleet.spec.training_job import TrainingJobSpec
from llm_fleet.spec.watch import RestartPolicy
from tests.sagemaker.watches import ALICE, CLUSTER, Body, Watched, job_spec, make_role


def as_text(value: object) -> str:
    """Return an ARN of the template with its parts joined."""
    return "".join(map(str, value["Fn::Join"][1])) if isinstance(value, dict) else str(value)  # pyright: ignore


def statements(document: Body) -> dict[str, Body]:
    """Statements of a policy by their ids."""
    return {one["Sid"]: one for one in document["PolicyDocument"]["Statement"]}


def test_messages_are_hidden_for_six_runs_and_moved_to_the_dead_letter_queue_after_five(watched: Watched) -> None:
    queue = watched.only("AWS::SQS::Queue", "WatchQueueDE")
    function = watched.only("AWS::Lambda::Function")
    assert queue["VisibilityTimeout"] >= 6 * function["Timeout"]
    aside = {"Fn::GetAtt": [watched.id_of("AWS::SQS::Queue", "DeadLetters"), "Arn"]}
    assert queue["RedrivePolicy"] == {"deadLetterTargetArn": aside, "maxReceiveCount": 5}


def test_lambda_receives_one_message_at_a_time_and_reports_failed_ones(watched: Watched) -> None:
    mapping = watched.only("AWS::Lambda::EventSourceMapping")
    assert mapping["BatchSize"] == 1
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": 2}


def test_every_rule_can_write_to_the_queue_and_to_the_dead_letter_queue(watched: Watched) -> None:
    rules = {f"{name}" for name in watched.of_type("AWS::Events::Rule")}
    assert len(rules) == 4
    for policy in watched.of_type("AWS::SQS::QueuePolicy").values():
        let_in = [one for one in policy["PolicyDocument"]["Statement"] if one["Effect"] == "Allow"]
        assert {one["Condition"]["ArnEquals"]["aws:SourceArn"]["Fn::GetAtt"][0] for one in let_in} == rules
        (denied,) = [one for one in policy["PolicyDocument"]["Statement"] if one["Effect"] == "Deny"]
        assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_the_key_can_be_used_by_events_alarms_and_logs(watched: Watched) -> None:
    allowed = [str(one["Principal"]) for one in watched.only("AWS::KMS::Key")["KeyPolicy"]["Statement"]]
    for service in ("events.amazonaws.com", "cloudwatch.amazonaws.com", "logs."):
        assert any(service in principal for principal in allowed), service


def test_only_events_of_watched_jobs_and_clusters_match(watched: Watched) -> None:
    rules = watched.of_type("AWS::Events::Rule").items()
    patterns: dict[str, Body] = {name: rule.get("EventPattern", {}) for name, rule in rules}
    (jobs,) = [pattern for name, pattern in patterns.items() if "Jobs" in name]
    prefixes = [{"prefix": prefix} for prefix in ("Alice-", "llama-", "llama-large-")]
    assert jobs["detail"] == {"TrainingJobName": prefixes}
    (alarms,) = [pattern for name, pattern in patterns.items() if "Alarms" in name]
    assert alarms["detail"] == {"alarmName": [{"prefix": "llm-fleet/fleet/"}]}
    (clusters,) = [pattern for name, pattern in patterns.items() if "Clusters" in name]
    assert clusters["$or"] == [
        {"resources": [CLUSTER]},
        {"detail": {"ClusterArn": [CLUSTER]}},
        {"detail": {"EventDetails": {"ClusterArn": [CLUSTER]}}},
    ]


@pytest.mark.parametrize(
    "event",
    [
        {"resources": [CLUSTER], "detail": {"ClusterArn": "cluster/x"}},
        {"resources": ["cluster/x"], "detail": {"ClusterArn": CLUSTER}},
        {"resources": [], "detail": {"EventDetails": {"ClusterArn": CLUSTER}}},
    ],
)
def test_an_event_can_name_the_cluster_in_any_field(watched: Watched, event: Body) -> None:
    pattern = watched.only("AWS::Events::Rule", "Clusters")["EventPattern"]
    changed = {"source": "aws.sagemaker", "detail-type": "SageMaker HyperPod Cluster Event"}
    matches: Any = EventPattern(None, pattern).matches_event
    assert matches({**changed, **event})
    assert not matches({**changed, "resources": ["cluster/x"], "detail": {}})


def test_the_sweep_is_sent_through_the_queue(watched: Watched) -> None:
    sweep = watched.only("AWS::Events::Rule", "Sweep")
    assert sweep["ScheduleExpression"] == f"rate({training_watch_facts().sweep_minutes} minutes)"
    assert json.loads(sweep["Targets"][0]["Input"]) == {"kind": "sweep"}


def test_the_record_is_retained_and_can_be_restored(watched: Watched) -> None:
    (table,) = [one for one in watched.watch["Resources"].values() if one["Type"] == "AWS::DynamoDB::Table"]
    assert table["DeletionPolicy"] == "RetainExceptOnCreate"
    assert table["Properties"]["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert [key["AttributeName"] for key in table["Properties"]["KeySchema"]] == ["job"]


def test_permissions_of_the_watch_do_not_depend_on_jobs(watched: Watched) -> None:
    text = json.dumps(watched.watch)
    assert "Fn::ImportValue" not in text
    assert "Fn::GetStackOutput" not in text


def test_a_watched_job_adds_permissions_only_for_itself(watched: Watched) -> None:
    policies = watched.of_type("AWS::IAM::ManagedPolicy", of_jobs=True)
    assert len(policies) == 2
    ours = next(one for name, one in policies.items() if name.startswith("llamaWatch"))
    by_id = statements(ours)
    assert "WatchFunctionRole" in str(ours["Roles"])  # a reference to the watch's stack, which is deployed first
    assert as_text(by_id["RestartLlama"]["Resource"]).endswith(":training-job/llama-*")
    assert by_id["PassRoleLlama"]["Condition"] == {"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}}
    assert list(by_id["PassRoleLlama"]["Resource"]) == ["Fn::GetAtt"]
    assert as_text(by_id["CopyCheckpointsLlama"]["Resource"]).endswith(":s3:::checkpoints/llama/*")
    assert as_text(by_id["FindCheckpointsLlama"]["Resource"]).endswith(":s3:::checkpoints")
    assert by_id["FindCheckpointsLlama"]["Condition"] == {"StringLike": {"s3:prefix": ["llama/*", "llama"]}}
    assert by_id["LetSageMakerLlama"]["Condition"] == {"Bool": {"kms:GrantIsForAWSResource": "true"}}
    assert "s3:DeleteObject" not in json.dumps(ours)


def test_jobs_of_others_have_their_policy_in_the_stack_of_the_watch(watched: Watched) -> None:
    ours = next(one for name, one in watched.of_type("AWS::IAM::ManagedPolicy").items() if "Alice" in name)
    by_id = statements(ours)
    assert by_id["PassRoleAlice"]["Resource"] == ALICE
    names = [as_text(one).rsplit("/", 1)[-1] for one in by_id["RestartAlice"]["Resource"]]
    assert names == ["Alice-*", "alice-*"]  # SageMaker writes ARNs in small letters
    assert {"CopyCheckpointsAlice", "CopyCheckpointsAlice1"} <= set(by_id)


def test_no_policy_has_wildcard_actions(watched: Watched) -> None:
    wide = [
        one["Sid"]
        for template, of_jobs in ((watched.watch, False), (watched.jobs, True))
        for policy in watched.of_type("AWS::IAM::ManagedPolicy", of_jobs=of_jobs).values()
        for one in policy["PolicyDocument"]["Statement"]
        if one["Resource"] == "*" or any("*" in action for action in [one["Action"]] if isinstance(action, str))
        if template
    ]
    assert wide == ["FindJobs"]


def test_alarms_report_failures_of_the_watch(watched: Watched) -> None:
    topic = [{"Ref": watched.id_of("AWS::SNS::Topic", "Topic")}]
    alarms = watched.of_type("AWS::CloudWatch::Alarm")
    assert {alarm["MetricName"] for alarm in alarms.values()} == {
        "ApproximateNumberOfMessagesVisible",
        "ApproximateAgeOfOldestMessage",
        "Errors",
        "Invocations",
    }
    assert all(alarm["AlarmActions"] == topic for alarm in alarms.values())
    (asleep,) = [alarm for alarm in alarms.values() if alarm["MetricName"] == "Invocations"]
    assert asleep["TreatMissingData"] == "breaching"
    assert asleep["Period"] * asleep["EvaluationPeriods"] > 2 * 60 * training_watch_facts().sweep_minutes


def test_the_error_alarm_rings_if_every_sweep_fails(watched: Watched) -> None:
    """A failed message is hidden for an hour: when everything fails, there is one run per sweep."""
    errors = watched.only("AWS::CloudWatch::Alarm", "Errors")
    window = errors["Period"] * errors["EvaluationPeriods"]
    assert window // (60 * training_watch_facts().sweep_minutes) >= errors["DatapointsToAlarm"] > 1


def deployed_environment(watched: Watched) -> DeployedEnvironment:
    variables = watched.only("AWS::Lambda::Function")["Environment"]["Variables"]
    return DeployedEnvironment.read(
        {name: value if isinstance(value, str) else "a-token" for name, value in variables.items()}
    )


def test_settings_of_all_jobs(watched: Watched) -> None:
    around = deployed_environment(watched)
    job = around.settings.of("Alice-1")
    assert (job.max_restarts, job.backoff_seconds, job.backoff_most_seconds) == (3, 60, 3600)
    assert not job.restart_at_max_runtime
    assert (job.grace_seconds, job.onset_margin_seconds) == (1800, 60)
    assert Layout.of(job.layout).step("checkpoint-500") == 500
    assert dict(job.alarms) == {
        "loss-spike": {"metric": "train:loss", "period": 60, "factor": 2.0, "datapoints": 3, "periods": 30},
        "stall": {"metric": "train:loss", "period": 60, "periods": 15},
        "nan": {"metric": "train:loss_nan", "period": 60},
        "throughput": {"metric": "train:speed", "period": 60, "fraction": 0.5, "datapoints": 10, "periods": 30},
    }


def test_settings_of_a_job_do_not_apply_to_jobs_with_longer_names(watched: Watched) -> None:
    settings = deployed_environment(watched).settings
    own = settings.of("llama-20261122-000000-abcd")
    assert (own.max_restarts, own.backoff_seconds, own.restart_at_max_runtime, own.grace_seconds) == (1, 5, True, 300)
    assert dict(own.alarms) == {"stall": {"metric": "loss", "period": 60, "periods": 40}}
    assert Layout.of(own.layout) == Layout(folder=r"step_(\d+)", marker="done")
    assert settings.of("llama-large-20261122-000000-abcd") == settings.of("Alice-1")


def test_names_are_the_same_in_construct_and_function(watched: Watched) -> None:
    around = deployed_environment(watched)
    facts = training_watch_facts()
    assert facts.tag == WATCH_TAG
    assert around.alarm_prefix == f"{facts.alarm_prefix}fleet/"
    assert [around.watches(name, {}) for name in ("llama-1", "Alice-1", "bob-1")] == [True, True, False]
    assert around.settings.follows_cluster("train")


def test_the_function_supports_every_layout() -> None:
    assert all(Layout.of(name) for name in training_watch_facts().layouts)


def test_waits_are_within_the_limit_of_the_queue() -> None:
    assert RestartPolicy(back_off_seconds=7200).longest_wait_seconds == 7200


def test_settings_and_other_variables_are_within_the_limit_of_lambda(watched: Watched) -> None:
    text = watched.only("AWS::Lambda::Function")["Environment"]["Variables"]["SETTINGS"]
    assert json.loads(text)
    assert len(text) < 4096 - 512


KEY = "arn:aws:kms:us-west-2:111122223333:key/01234567-89ab-cdef-0123-456789abcdef"


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        ({"name": "my watch"}, ["LF900"]),
        ({"watch": RestartPolicy()}, ["LF113"]),
        ({"watch": WatchSpec(grace_minutes=2000)}, ["LF986"]),
        ({"clusters": ["train", 3]}, ["LF991", "LF991"]),
        ({"clusters": 3, "topic": "arn:aws:sns:us-west-2:111122223333:pager", "encryption_key": KEY}, ["LF113"] * 3),
        ({"watch": WatchSpec(others={"alice": WatchedJobs()})}, ["LF993", "LF993"]),
    ],
)
def test_invalid_arguments_are_reported(stack: cdk.Stack, arguments: dict[str, Any], codes: list[str]) -> None:
    with pytest.raises(FleetError) as error:
        make({"name": "fleet"} | arguments, stack)
    assert [problem.code.value for problem in error.value.problems] == codes


def make(arguments: Any, stack: cdk.Stack) -> TrainingWatch:
    return TrainingWatch(stack, "Watch", **arguments)


@pytest.fixture
def watch(stack: cdk.Stack) -> TrainingWatch:
    return TrainingWatch(
        stack, "Watch", WatchSpec(conditions=WatchConditions(stall=Stall(metric="loss"))), name="fleet"
    )


def follow(
    watch: TrainingWatch, name: str, *, job: TrainingJobSpec | None = None, uri: str = "s3://a-bucket/x", **more: Any
) -> Any:
    scope = Construct(cdk.Stack.of(watch), f"Job-{name}{len(cdk.Stack.of(watch).node.children)}")
    return watch.follow(scope, job or job_spec(name, "loss"), role=make_role(scope), checkpoint_uri=uri, **more)


def rejected(watch: TrainingWatch, name: str, **more: Any) -> list[str]:
    with pytest.raises(FleetError) as error:
        follow(watch, name, **more)
    return [problem.code.value for problem in error.value.problems]


def test_invalid_watched_jobs_are_reported(watch: TrainingWatch) -> None:
    assert rejected(watch, "a", job=job_spec("a", checkpoints=False)) == ["LF988", "LF987"]
    assert rejected(watch, "b", settings="none") == ["LF113"]
    assert rejected(watch, "b", settings=JobWatch(grace_minutes=-1, checkpoints=CheckpointLayout())) == [
        "LF986",
        "LF990",
    ]
    assert rejected(watch, "c", uri="${Token[Uri.1]}") == ["LF993"]
    settings = JobWatch(restart=RestartPolicy(maximum=0), conditions=WatchConditions())
    tags = follow(watch, "d", job=job_spec("d", checkpoints=False), settings=settings)
    assert tags == {"llm-fleet:watch": "fleet"}
    for number in range(8):
        follow(watch, f"e{number}")
    assert rejected(watch, "f") == ["LF992"]
    assert watch.answer_within_seconds == 3600 + 7200


def test_a_watch_without_jobs_is_reported_at_synth(app: cdk.App, watch: TrainingWatch) -> None:
    with pytest.raises(RuntimeError, match="LF989"):
        app.synth()


def test_an_imported_key_causes_a_warning_about_its_policy(stack: cdk.Stack) -> None:
    key = kms.Key.from_key_arn(stack, "Key", KEY)
    cluster = "arn:aws:sagemaker:us-west-2:111122223333:cluster/0123456789ab"
    TrainingWatch(stack, "Watch", name="fleet", clusters=[cluster], encryption_key=key)
    pattern = Match.string_like_regexp("must allow events.amazonaws.com kms:Decrypt")
    assert len(Annotations.from_stack(stack).find_warning("*", pattern)) == 1
