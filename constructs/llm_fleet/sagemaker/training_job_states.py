"""States of a training job's state machine before and after its job, in Amazon States Language.

After a job ended, states poll the watch's record.

The watch writes a decision about every watched job: `restart`, with the `successor` and, once that job exists,
`created`; or a final decision with its `reason`.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from llm_fleet.sagemaker.training_job_machine import MachinePlan, WatchRecord

State = dict[str, Any]
States = dict[str, State]

THROTTLED = {"IntervalSeconds": 5, "MaxAttempts": 6, "BackoffRate": 2.0, "JitterStrategy": "FULL"}
"""Retries of throttled calls: about five minutes in total."""


def choice(rules: Sequence[Mapping[str, Any]], *, otherwise: str) -> State:
    """Return a Choice state; without a matching rule it continues with `otherwise`."""
    return {"Type": "Choice", "Choices": [dict(rule) for rule in rules], "Default": otherwise}


def put(values: Mapping[str, Any], *, at: str | None, then: str) -> State:
    """Return a state that writes `values` at the path `at`; `None` replaces the whole state data."""
    place = {"ResultPath": at} if at else {}
    return {"Type": "Pass", "Parameters": dict(values), **place, "Next": then}


def end_with(kind: str, error: str, cause: Mapping[str, str] | str, *, then: str) -> State:
    """Return a state that writes the result to `$.ended`; `cause`: a string, or parameters that compute it."""
    fields = {"cause": cause} if isinstance(cause, str) else dict(cause)
    return put({"kind": kind, "error": error, **fields}, at="$.ended", then=then)


def call(
    resource: str,
    parameters: Mapping[str, Any],
    *,
    then: str,
    keep: tuple[str, Mapping[str, Any] | None] | None = None,
    retry: Sequence[Mapping[str, Any]] = (),
    catch: Sequence[Mapping[str, Any]] = (),
) -> State:
    """Return a Task state; `keep`: the path for the response and the parts of it to keep; default none.

    Parts of `None` keep all of it, for a member that may be missing: a path without a match is `States.Runtime`,
    which no catcher catches (docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html).
    """
    kept: State = {"ResultPath": keep[0] if keep else None}
    if keep and keep[1] is not None:
        kept = {"ResultSelector": dict(keep[1]), **kept}
    return {
        "Type": "Task",
        "Resource": resource,
        "Parameters": dict(parameters),
        **kept,
        **({"Retry": [dict(one) for one in retry]} if retry else {}),
        **({"Catch": [dict(one) for one in catch]} if catch else {}),
        "Next": then,
    }


def caught(error: str | Sequence[str], *, then: str) -> State:
    """Return a catcher that writes the error to `$.caught`."""
    errors = [error] if isinstance(error, str) else list(error)
    return {"ErrorEquals": errors, "ResultPath": "$.caught", "Next": then}


def again(errors: Sequence[str], **pace: Any) -> State:
    """Return a retrier; default: `THROTTLED`."""
    return {"ErrorEquals": list(errors), **(pace or THROTTLED)}


def chain(first: str, states: Sequence[str], last: str) -> dict[str, str]:
    """Return which state follows each, from `first` through `states` to `last`."""
    order = [first, *states, last]
    return dict(pairwise(order))


INPUT_KEYS = ("checkpoints", "hyperparameters", "name_suffix")
"""Keys of an execution's input."""
_EXAMPLE = '{"hyperparameters": {"epochs": "3"}, "checkpoints": "s3://bucket/prefix/", "name_suffix": "trial-7"}'
_STAMP = "States.ArrayGetItem($.named.time, {})"


def input_states(plan: MachinePlan, *, then: str) -> States:
    """Return the states from `CheckInput` to `then`, which gets `$.run`, `$.place`, `$.with` and `$.attempt`.

    Choice states cannot check patterns or types of members: SageMaker rejects an invalid name in `CreateJob`, with its
    own message.
    """
    request = plan.request
    has_checkpoints = "CheckpointConfig" in request
    return {
        "CheckInput": choice(_faults(has_checkpoints), otherwise="ReadInput"),
        **_input_errors(has_checkpoints),
        "ReadInput": put(
            {
                "known": {"checkpoints": "", "hyperparameters": {}, "name_suffix": ""},
                "given.$": "$",
                "place": {
                    "checkpoints": str(request.get("CheckpointConfig", {}).get("S3Uri", "")).rstrip("/"),
                    "hyperparameters": dict(request.get("HyperParameters", {})),
                    "execution.$": "$$.Execution.Id",
                    "waits": list(plan.capacity_waits),
                    "alarms": [alarm.suffix for alarm in plan.alarms],
                },
            },
            at=None,
            then="MergeInput",
        ),
        "MergeInput": put(
            {"input.$": "States.JsonMerge($.known, $.given, false)", "place.$": "$.place"}, at=None, then="ListKeys"
        ),
        "ListKeys": put({"values.$": "$.input.*"}, at="$.keys", then="CountKeys"),
        "CountKeys": put({"count.$": "States.ArrayLength($.keys.values)"}, at="$.keys", then="KnownKeys"),
        "KnownKeys": choice(
            [{"Variable": "$.keys.count", "NumericEquals": len(INPUT_KEYS), "Next": "NameRun"}], otherwise="UnknownKey"
        ),
        **_naming(plan.name),
        **(_placing() if has_checkpoints else {"PlaceRun": put({"uri": ""}, at="$.checkpoints", then="MergeHyper")}),
        "MergeHyper": put(
            {"hyperparameters.$": "States.JsonMerge($.place.hyperparameters, $.input.hyperparameters, false)"},
            at="$.with",
            then="FirstAttempt",
        ),
        "FirstAttempt": put({"number": 1, "followed": 0, "job.$": "$.run.name"}, at="$.attempt", then=then),
    }


def _placing() -> States:
    """Set the run's checkpoint URI: its own, or the one of the input to resume from."""
    return {
        "PlaceRun": choice(
            [{"Variable": "$.input.checkpoints", "StringEquals": "", "Next": "OwnCheckpoints"}],
            otherwise="GivenCheckpoints",
        ),
        "OwnCheckpoints": put(
            {"uri.$": "States.Format('{}/{}/', $.place.checkpoints, $.run.name)"}, at="$.checkpoints", then="MergeHyper"
        ),
        "GivenCheckpoints": put({"uri.$": "$.input.checkpoints"}, at="$.checkpoints", then="MergeHyper"),
    }


def _naming(name: str) -> States:
    """Name the run with the suffix of the input, or with the start time and four random hex digits."""
    time = ", ".join(_STAMP.format(index) for index in range(6))
    return {
        "NameRun": choice(
            [{"Variable": "$.input.name_suffix", "StringEquals": "", "Next": "StampRun"}], otherwise="NamedRun"
        ),
        "NamedRun": put({"name.$": f"States.Format('{name}-{{}}', $.input.name_suffix)"}, at="$.run", then="PlaceRun"),
        "StampRun": put(
            {
                "time.$": "States.StringSplit($$.Execution.StartTime, '-T:.+Z')",
                "random.$": "States.StringSplit(States.UUID(), '-')",
            },
            at="$.named",
            then="StampName",
        ),
        "StampName": put(
            {
                "name.$": f"States.Format('{name}-{{}}{{}}{{}}-{{}}{{}}{{}}-{{}}', {time}, "
                "States.ArrayGetItem($.named.random, 1))"
            },
            at="$.run",
            then="PlaceRun",
        ),
    }


def _faults(has_checkpoints: bool) -> Sequence[Mapping[str, Any]]:
    whole = [{"Variable": "$", kind: True, "Next": "NoObject"} for kind in ("IsString", "IsNumeric", "IsBoolean")]
    rules: list[Mapping[str, Any]] = [
        *whole,
        {"Variable": "$", "IsNull": True, "Next": "NoObject"},
        {"Variable": "$[0]", "IsPresent": True, "Next": "NoObject"},
        _present(
            "hyperparameters", [_is(kind) for kind in ("IsString", "IsNumeric", "IsBoolean", "IsNull")], "BadHyper"
        ),
        {
            "And": [
                {"Variable": "$.hyperparameters", "IsPresent": True},
                {"Variable": "$.hyperparameters[0]", "IsPresent": True},
            ],
            "Next": "BadHyper",
        },
        _present("name_suffix", [_not_text("$.name_suffix")], "BadSuffix"),
        {
            "And": [
                {"Variable": "$.name_suffix", "IsPresent": True},
                {"Variable": "$.name_suffix", "StringEquals": ""},
            ],
            "Next": "BadSuffix",
        },
    ]
    if not has_checkpoints:
        return [*rules, {"Variable": "$.checkpoints", "IsPresent": True, "Next": "NoCheckpoints"}]
    place = {"Not": {"Variable": "$.checkpoints", "StringMatches": "s3://*/*"}}
    return [*rules, _present("checkpoints", [_not_text("$.checkpoints"), place], "BadCheckpoints")]


def _is(kind: str) -> dict[str, Any]:
    return {"Variable": "$.hyperparameters", kind: True}


def _not_text(path: str) -> dict[str, Any]:
    return {"Not": {"Variable": path, "IsString": True}}


def _present(key: str, faults: Sequence[Mapping[str, Any]], then: str) -> dict[str, Any]:
    return {"And": [{"Variable": f"$.{key}", "IsPresent": True}, {"Or": list(faults)}], "Next": then}


def _input_errors(has_checkpoints: bool) -> States:
    keys = ", ".join(INPUT_KEYS)
    causes = {
        "NoObject": f"the input must be a JSON object, e.g. {_EXAMPLE}; an empty object runs the job as deployed",
        "UnknownKey": f"the input has an unknown key; allowed: {keys}, e.g. {_EXAMPLE}",
        "BadHyper": 'hyperparameters must be an object of strings, e.g. {"epochs": "3"}',
        "BadSuffix": "name_suffix must be a string of letters, digits and hyphens, since it is part of the job's name",
    }
    if has_checkpoints:
        causes["BadCheckpoints"] = "checkpoints must be an S3 URI to resume from, e.g. s3://bucket/prefix/"
    else:
        causes["NoCheckpoints"] = "this job has no checkpoints to resume from; deploy it with checkpoints"
    return {name: {"Type": "Fail", "Error": "BadInput", "Cause": cause} for name, cause in causes.items()}


_ITEM = "$.record.Item"


def watch_states(watch: WatchRecord, partition: str) -> States:
    """Return the states from `AskWatch` on: the watch's decision, and the job that it created."""
    return {**_asking(watch, partition), **_following(watch)}


def _asking(watch: WatchRecord, partition: str) -> States:
    decided = {"Variable": f"{_ITEM}.decision.S", "IsPresent": True}
    restart = {"Variable": f"{_ITEM}.decision.S", "StringEquals": "restart"}
    made = {"Variable": f"{_ITEM}.created", "IsPresent": True}
    has_reason = {"Variable": f"{_ITEM}.reason.S", "IsPresent": True}
    return {
        "AskWatch": call(
            f"arn:{partition}:states:::dynamodb:getItem",
            {"TableName": watch.table_name, "ConsistentRead": True, "Key": {"job": {"S.$": "$.attempt.job"}}},
            then="WhatDecided",
            keep=("$.record", None),
            retry=[again(["DynamoDB.ProvisionedThroughputExceededException", "DynamoDB.ThrottlingException",
                          "DynamoDB.InternalServerError", "DynamoDB.AmazonDynamoDBException"])],
            catch=[caught("States.ALL", then="Unread")],
        ),
        "Unread": end_with(
            "fault", "WatchUnread",
            {"cause.$": "States.Format('{}; reading the watch's record failed: {}', $.ended.cause, "
             "$.caught.Cause)"},
            then="RunFailed",
        ),
        "WhatDecided": choice(
            [
                {"And": [decided, {"Not": restart}, has_reason], "Next": "WatchDecided"},
                {"And": [decided, {"Not": restart}], "Next": "RunFailed"},
                {"And": [decided, restart, made], "Next": "CountFollowed"},
            ],
            otherwise="CountAsk",
        ),
        "CountAsk": put({"count.$": "States.MathAdd($.asks.count, 1)"}, at="$.asks", then="AskAgain"),
        "AskAgain": choice(
            [{"Variable": "$.asks.count", "NumericGreaterThan": watch.asks_at_most, "Next": "WatchSilent"}],
            otherwise="WaitForWatch",
        ),
        "WaitForWatch": {"Type": "Wait", "Seconds": watch.ask_seconds, "Next": "AskWatch"},
        "WatchSilent": end_with(
            "fault", "WatchSilent",
            {"cause.$": "States.Format('{}; the watch made no decision in time', $.ended.cause)"},
            then="RunFailed",
        ),
        "WatchDecided": end_with(
            "fault", "JobNotRestarted",
            {"cause.$": "States.Format('{}; the watch: {}: {}', $.ended.cause, $.record.Item.decision.S, "
             "$.record.Item.reason.S)"},
            then="RunFailed",
        ),
    }  # fmt: skip


def _following(watch: WatchRecord) -> States:
    return {
        "CountFollowed": put(
            {"count.$": "States.MathAdd($.attempt.followed, 1)"}, at="$.next", then="MayFollow"
        ),
        "MayFollow": choice(
            [{"Variable": "$.next.count", "NumericGreaterThan": watch.successors_at_most, "Next": "TooMany"}],
            otherwise="FollowSuccessor",
        ),
        "FollowSuccessor": put(
            {"number.$": "$.attempt.number", "followed.$": "$.next.count", "job.$": f"{_ITEM}.successor.S"},
            at="$.attempt",
            then="PutAlarms",
        ),
        "TooMany": end_with(
            "fault", "TooManySuccessors",
            {"cause.$": "States.Format('{}; the watch restarted it as {}, which is not followed', $.ended.cause, "
             "$.record.Item.successor.S)"},
            then="RunFailed",
        ),
    }  # fmt: skip
