"""The definition of the state machine that runs a training job.

`render_machine` is a pure function of the plan.

The machine calls `aws-sdk:sagemaker:createTrainingJob` and polls, because `sagemaker:createTrainingJob.sync` does not
support checkpoints, spot, remote debugging, health checks, retries and environment
(docs.aws.amazon.com/step-functions/latest/dg/connect-sagemaker.html). The emulator of the tests also runs this form.

It uses JSONPath without variables: the input of a state has everything that the state needs.
"""

from typing import Any

from llm_fleet.sagemaker.training_job_machine import MachinePlan, RunAlarm
from llm_fleet.sagemaker.training_job_states import (
    State,
    States,
    again,
    call,
    caught,
    chain,
    choice,
    end_with,
    input_states,
    put,
    watch_states,
)

EXECUTION = "LLM_FLEET_EXECUTION"
"""Environment variable of a job with the ARN of its execution."""
IN_USE = "SageMaker.ResourceInUseException"
QUOTA = "SageMaker.ResourceLimitExceededException"
QUOTA_PACE = {"IntervalSeconds": 60, "BackoffRate": 2.0, "MaxDelaySeconds": 900}
"""Another job must end before the quota allows this one: at most 15 minutes between two attempts."""
SERVICE = ("SageMaker.SageMakerException", "SageMaker.SdkClientException", "States.TaskFailed")
"""Errors of throttled calls: SageMaker's model has no exception for throttling (botocore), so the SDK uses a generic
one. Step Functions' documentation does not list the names; users report these."""


def job_states(plan: MachinePlan, *, ended: str) -> States:
    """Return the states from `PutAlarms` on: creating alarms, running and polling the job.

    The state `ended` gets `$.ended`: `kind` (completed, failed, stopped, fault), `error` and `cause`.
    """
    sdk = f"arn:{plan.partition}:states:::aws-sdk"
    describe = f"{sdk}:sagemaker:describeTrainingJob"
    name = {"TrainingJobName.$": "$.attempt.job"}
    mark = f"$.found.Environment.{EXECUTION}"
    return {
        **_alarm_states(plan, sdk),
        "StartOrFollow": choice(
            [{"Variable": "$.attempt.followed", "NumericGreaterThan": 0, "Next": "WaitForJob"}], otherwise="CreateJob"
        ),
        "CreateJob": call(
            f"{sdk}:sagemaker:createTrainingJob",
            create_parameters(plan),
            then="WaitForJob",
            retry=[
                again([QUOTA], MaxAttempts=plan.quota_attempts, **QUOTA_PACE),
                again(["SageMaker.SageMakerException", "SageMaker.SdkClientException"]),
            ],
            catch=[caught(IN_USE, then="WhoseJob"), caught("States.ALL", then="NotStarted")],
        ),
        "WhoseJob": call(
            describe,
            name,
            then="IsItMine",
            keep=("$.found", None),
            retry=[again(SERVICE)],
            catch=[caught("States.ALL", then="NameTaken")],
        ),
        "IsItMine": choice(
            [
                {
                    "And": [
                        {"Variable": mark, "IsPresent": True},
                        {"Variable": mark, "StringEqualsPath": "$.place.execution"},
                    ],
                    "Next": "WaitForJob",
                }
            ],
            otherwise="NameTaken",
        ),
        "NameTaken": end_with(
            "fault", "NameTaken",
            {"cause.$": "States.Format('a job named {} already exists: use another name_suffix, or none', "
             "$.attempt.job)"},
            then=ended,
        ),
        "NotStarted": end_with("fault", "NotStarted", {"cause.$": "$.caught.Cause"}, then=ended),
        "WaitForJob": {"Type": "Wait", "Seconds": plan.pace.poll_seconds, "Next": "DescribeJob"},
        "DescribeJob": call(
            describe,
            name,
            then="HowIsIt",
            keep=("$.described", {"status.$": "$.TrainingJobStatus", "secondary.$": "$.SecondaryStatus"}),
            retry=[again(SERVICE)],
            catch=[caught("States.ALL", then="Unseen")],
        ),
        "HowIsIt": choice(
            [
                {"Variable": "$.described.status", "StringEquals": "Completed", "Next": "ReadModel"},
                {"Variable": "$.described.status", "StringEquals": "Failed", "Next": "ReadFailure"},
                {"Variable": "$.described.status", "StringEquals": "Stopped", "Next": "Stopped"},
                {"Variable": "$.polls.count", "NumericGreaterThanEquals": plan.pace.polls_at_most, "Next": "Outlasted"},
            ],
            otherwise="CountPoll",
        ),
        "CountPoll": put({"count.$": "States.MathAdd($.polls.count, 1)"}, at="$.polls", then="WaitForJob"),
        **_endings(plan, describe, ended),
    }  # fmt: skip


def create_parameters(plan: MachinePlan) -> State:
    """Return the parameters of CreateTrainingJob, with paths into the execution's data."""
    request = dict(plan.request)
    request.pop("TrainingJobName", None)
    request.pop("HyperParameters", None)
    given: State = {
        "TrainingJobName.$": "$.attempt.job",
        **request,
        "HyperParameters.$": "$.with.hyperparameters",
        "Environment": {**request.get("Environment", {}), f"{EXECUTION}.$": "$$.Execution.Id"},
    }
    if "CheckpointConfig" in request:
        given["CheckpointConfig"] = {
            **{key: value for key, value in request["CheckpointConfig"].items() if key != "S3Uri"},
            "S3Uri.$": "$.checkpoints.uri",
        }
    given["Tags"] = [
        *request.get("Tags", []),
        {"Key": "llm-fleet:state-machine", "Value.$": "$$.StateMachine.Name"},
    ]
    return given


def _alarm_states(plan: MachinePlan, sdk: str) -> States:
    """Create the alarms sequentially, before the job starts; `PutAlarms` is always the first state."""
    names = [f"PutAlarm{index}" for index, _ in enumerate(plan.alarms)]
    then = chain("PutAlarms", names, "StartOrFollow")
    return {
        "PutAlarms": put({"count": 0}, at="$.asks", then=then["PutAlarms"]),
        **{
            name: _put_alarm(sdk, index, alarm, then=then[name])
            for index, (name, alarm) in enumerate(zip(names, plan.alarms, strict=True))
        },
    }


def _put_alarm(sdk: str, index: int, alarm: RunAlarm, *, then: str) -> State:
    return call(
        f"{sdk}:cloudwatch:putMetricAlarm",
        {
            "AlarmName.$": alarm_name(index),
            **alarm.request,
            "Dimensions": [{"Name": "TrainingJobName", "Value.$": "$.attempt.job"}],
        },
        then=then,
        retry=[again(["CloudWatch.CloudWatchException", "CloudWatch.SdkClientException"])],
        catch=[caught("States.ALL", then="NotStarted")],
    )


def alarm_name(index: int) -> str:
    """Return the intrinsic function for an alarm's name."""
    return f"States.Format('{{}}-{{}}', $.attempt.job, $.place.alarms[{index}])"


def _endings(plan: MachinePlan, describe: str, ended: str) -> States:
    name = {"TrainingJobName.$": "$.attempt.job"}
    return {
        "ReadModel": call(
            describe,
            name,
            then="HasModel",
            keep=("$.done", None),
            retry=[again(SERVICE)],
            catch=[caught("States.ALL", then="NoModel")],
        ),
        "HasModel": choice(
            [{"Variable": "$.done.ModelArtifacts.S3ModelArtifacts", "IsPresent": True, "Next": "Model"}],
            otherwise="NoModel",
        ),
        "Model": put({"uri.$": "$.done.ModelArtifacts.S3ModelArtifacts"}, at="$.model", then="Completed"),
        "NoModel": put({"uri": ""}, at="$.model", then="Completed"),
        "Completed": end_with("completed", "", "", then=ended),
        "ReadFailure": call(
            describe,
            name,
            then="HasReason",
            keep=("$.done", None),
            retry=[again(SERVICE)],
            catch=[caught("States.ALL", then="FailedSilently")],
        ),
        "HasReason": choice(
            [{"Variable": "$.done.FailureReason", "IsPresent": True, "Next": "Reason"}], otherwise="FailedSilently"
        ),
        "Reason": put({"reason.$": "$.done.FailureReason"}, at="$.failure", then="Failed"),
        "FailedSilently": put({"reason": "SageMaker returned no FailureReason"}, at="$.failure", then="Failed"),
        "Failed": end_with(
            "failed", "JobFailed",
            {"cause.$": "States.Format('{}: {}', $.attempt.job, $.failure.reason)"},
            then=ended,
        ),
        "Stopped": end_with(
            "stopped", "JobStopped",
            {"cause.$": "States.Format('{} was stopped: {}', $.attempt.job, $.described.secondary)"},
            then=ended,
        ),
        "Unseen": end_with(
            "fault", "Unseen",
            {
                "cause.$": "States.Format('DescribeTrainingJob failed for {}, which may still run: {}', "
                "$.attempt.job, $.caught.Cause)"
            },
            then=ended,
        ),
        "Outlasted": end_with(
            "fault", "Outlasted",
            {"cause.$": "States.Format('{} still runs, but is no longer followed: the execution history is full', "
             "$.attempt.job)"},
            then=ended,
        ),
    }  # fmt: skip


CAPACITY = ("CapacityError*", "*InsufficientCapacity*", "*insufficient capacity*")
"""Patterns of the failure reason of a job without capacity. SageMaker does not retry it (RetryStrategy is only for
InternalServerError, API_CreateTrainingJob)."""


def ending_states(plan: MachinePlan) -> States:
    """Return the states from `DeleteAlarms` on, which gets `$.ended`; another job begins at `PutAlarms`."""
    names = [f"DeleteAlarm{index}" for index, _ in enumerate(plan.alarms)]
    then = chain("DeleteAlarms", names, "AfterJob")
    resource = f"arn:{plan.partition}:states:::aws-sdk:cloudwatch:deleteAlarms"
    return {
        "DeleteAlarms": {"Type": "Pass", "Next": then["DeleteAlarms"]},
        **{
            name: call(
                resource,
                {"AlarmNames.$": f"States.Array({alarm_name(index)})"},
                then=then[name],
                retry=[again(["CloudWatch.CloudWatchException", "CloudWatch.SdkClientException"])],
                # A missing alarm or failed call must not hide the result of the job.
                catch=[caught("States.ALL", then=then[name])],
            )
            for index, name in enumerate(names)
        },
        "AfterJob": choice(_ways(plan), otherwise="RunFailed"),
        **(watch_states(plan.watch, plan.partition) if plan.watch else _capacity_states(plan)),
        "RunFailed": {"Type": "Fail", "ErrorPath": "$.ended.error", "CausePath": "$.ended.cause"},
        "ReturnResult": {
            "Type": "Pass",
            "Parameters": {
                "job.$": "$.attempt.job",
                "run.$": "$.run.name",
                "checkpoints.$": "$.checkpoints.uri",
                "model.$": "$.model.uri",
            },
            "Next": "RunCompleted",
        },
        "RunCompleted": {"Type": "Succeed"},
    }


def _ways(plan: MachinePlan) -> list[dict[str, Any]]:
    ways: list[dict[str, Any]] = [{"Variable": "$.ended.kind", "StringEquals": "completed", "Next": "ReturnResult"}]
    if plan.watch:
        over = [{"Variable": "$.ended.kind", "StringEquals": kind} for kind in ("failed", "stopped")]
        return [*ways, {"Or": over, "Next": "AskWatch"}]
    if not plan.capacity_waits:
        return ways
    found_none = [{"Variable": "$.failure.reason", "StringMatches": pattern} for pattern in CAPACITY]
    again_ = [
        {"Variable": "$.ended.kind", "StringEquals": "failed"},
        {"Or": found_none},
        {"Variable": "$.attempt.number", "NumericLessThanEquals": len(plan.capacity_waits)},
    ]
    return [*ways, {"And": again_, "Next": "CapacityPause"}]


def _capacity_states(plan: MachinePlan) -> States:
    if not plan.capacity_waits:
        return {}
    before = "States.MathAdd($.attempt.number, -1)"
    return {
        "CapacityPause": put(
            {"seconds.$": f"States.ArrayGetItem($.place.waits, {before})"}, at="$.pause", then="WaitForCapacity"
        ),
        "WaitForCapacity": {"Type": "Wait", "SecondsPath": "$.pause.seconds", "Next": "NextNumber"},
        "NextNumber": put(
            {"number.$": "States.MathAdd($.attempt.number, 1)"}, at="$.next", then="NextAttempt"
        ),
        "NextAttempt": put(
            {
                "number.$": "$.next.number",
                "followed": 0,
                "job.$": "States.Format('{}-{}', $.run.name, $.next.number)",
            },
            at="$.attempt",
            then="PutAlarms",
        ),
    }  # fmt: skip


def render_machine(plan: MachinePlan) -> dict[str, Any]:
    """Return the definition in Amazon States Language. It depends only on `plan`.

    An aborted execution stops polling, but the job still runs (see the output with the stop command).
    """
    return {
        "Comment": f"Runs the training job {plan.name} once, from start to end; input: checkpoints, hyperparameters, "
        "name_suffix",
        "StartAt": "CheckInput",
        "States": {
            **input_states(plan, then="CountPolls"),
            "CountPolls": put({"count": 0}, at="$.polls", then="PutAlarms"),
            **job_states(plan, ended="DeleteAlarms"),
            **ending_states(plan),
        },
    }
