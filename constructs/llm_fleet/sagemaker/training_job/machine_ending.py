"""The states after a job: its alarms deleted, another attempt or the watch's successor, and what is told at last."""

from typing import Any

from llm_fleet.sagemaker.training_job.machine_job import alarm_name
from llm_fleet.sagemaker.training_job.machine_plan import MachinePlan
from llm_fleet.sagemaker.training_job.machine_steps import States, again, call, caught, chain, choice, put
from llm_fleet.sagemaker.training_job.machine_watch import watch_states

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
