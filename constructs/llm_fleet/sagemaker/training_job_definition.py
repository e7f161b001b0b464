"""The definition of the state machine that runs a training job.

The state machine that runs a training job, as a pure function of its plan.

It asks by `aws-sdk:sagemaker:createTrainingJob` and polls, in place of `sagemaker:createTrainingJob.sync`: the latter's
page lists what it supports, and checkpoints, spot, remote debugging, health checks, retries and environment are not
among it (docs.aws.amazon.com/step-functions/latest/dg/connect-sagemaker.html). So, too, the machine is the same in the
embedded AWS, which runs it.

JSONPath with plain state data, no variables: everything a state needs is in its input.
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
"""Environment variable of a job: the execution whose it is."""
IN_USE = "SageMaker.ResourceInUseException"
QUOTA = "SageMaker.ResourceLimitExceededException"
QUOTA_PACE = {"IntervalSeconds": 60, "BackoffRate": 2.0, "MaxDelaySeconds": 900}
"""Another job must end before the quota has room: at most a quarter of an hour between two tries."""
SERVICE = ("SageMaker.SageMakerException", "SageMaker.SdkClientException", "States.TaskFailed")
"""What throttling comes as: SageMaker's model has no exception for it (botocore), so the SDK gives the service's own.
The documentation of Step Functions names none of these: they are the names that users report."""


def job_states(plan: MachinePlan, *, ended: str) -> States:
    """Return the states from `PutAlarms` on: alarms, the job, how it goes.

    `ended` finds `$.ended`: `kind` (completed, failed, stopped, fault), `error` and `cause`.
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
            {"cause.$": "States.Format('another run has a job called {}: start with another name_suffix, or without', "
             "$.attempt.job)"},
            then=ended,
        ),
        "NotStarted": end_with("fault", "NotStarted", {"cause.$": "$.caught.Cause"}, then=ended),
        "WaitForJob": {"Type": "Wait", "Seconds": plan.pace.poll_seconds, "Next": "DescribeJob"},
        "DescribeJob": call(
            describe,
            name,
            then="HowIsIt",
            keep=("$.told", {"status.$": "$.TrainingJobStatus", "secondary.$": "$.SecondaryStatus"}),
            retry=[again(SERVICE)],
            catch=[caught("States.ALL", then="Unseen")],
        ),
        "HowIsIt": choice(
            [
                {"Variable": "$.told.status", "StringEquals": "Completed", "Next": "ReadModel"},
                {"Variable": "$.told.status", "StringEquals": "Failed", "Next": "ReadFailure"},
                {"Variable": "$.told.status", "StringEquals": "Stopped", "Next": "Stopped"},
                {"Variable": "$.polls.count", "NumericGreaterThanEquals": plan.pace.polls_at_most, "Next": "Outlasted"},
            ],
            otherwise="CountPoll",
        ),
        "CountPoll": put({"count.$": "States.MathAdd($.polls.count, 1)"}, at="$.polls", then="WaitForJob"),
        **_endings(plan, describe, ended),
    }  # fmt: skip


def create_parameters(plan: MachinePlan) -> State:
    """Return CreateTrainingJob's parameters, with what the execution fills in."""
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
    """Put one alarm after the other, before the job costs anything; `PutAlarms` is the first of it in any case."""
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
    """Return the expression of an alarm's name."""
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
        "FailedSilently": put({"reason": "SageMaker gave no reason"}, at="$.failure", then="Failed"),
        "Failed": end_with(
            "failed", "JobFailed",
            {"cause.$": "States.Format('{}: {}', $.attempt.job, $.failure.reason)"},
            then=ended,
        ),
        "Stopped": end_with(
            "stopped", "JobStopped",
            {"cause.$": "States.Format('{} was stopped: {}', $.attempt.job, $.told.secondary)"},
            then=ended,
        ),
        "Unseen": end_with(
            "fault", "Unseen",
            {"cause.$": "States.Format('{} could not be described, and may go on: {}', $.attempt.job, $.caught.Cause)"},
            then=ended,
        ),
        "Outlasted": end_with(
            "fault", "Outlasted",
            {"cause.$": "States.Format('{} goes on, unfollowed: the history of one execution has no room for more', "
             "$.attempt.job)"},
            then=ended,
        ),
    }  # fmt: skip


CAPACITY = ("CapacityError*", "*InsufficientCapacity*", "*insufficient capacity*")
"""What begins or is in the reason of a job that found no machines: the service does not try it again (RetryStrategy is
for InternalServerError alone, API_CreateTrainingJob)."""


def ending_states(plan: MachinePlan) -> States:
    """Return the states from `DeleteAlarms` on, which finds `$.ended`; a further job begins at `PutAlarms`."""
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
                # One that is not there, or not to be had now, must not hide how the job ended.
                catch=[caught("States.ALL", then=then[name])],
            )
            for index, name in enumerate(names)
        },
        "AfterJob": choice(_ways(plan), otherwise="RunFailed"),
        **(watch_states(plan.watch, plan.partition) if plan.watch else _capacity_states(plan)),
        "RunFailed": {"Type": "Fail", "ErrorPath": "$.ended.error", "CausePath": "$.ended.cause"},
        "Told": {
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
    ways: list[dict[str, Any]] = [{"Variable": "$.ended.kind", "StringEquals": "completed", "Next": "Told"}]
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
    """Return the definition in Amazon States Language. It depends on `plan` alone.

    An execution that is aborted stops asking; the job goes on (see the output that stops it).
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
