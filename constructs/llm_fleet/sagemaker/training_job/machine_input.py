"""The first states of a training job's machine: what it was started with, checked, and what the run is called."""

from collections.abc import Mapping, Sequence
from typing import Any

from llm_fleet.sagemaker.training_job.machine_plan import MachinePlan
from llm_fleet.sagemaker.training_job.machine_steps import States, choice, put

INPUT_KEYS = ("checkpoints", "hyperparameters", "name_suffix")
"""What an execution may be started with."""
_EXAMPLE = '{"hyperparameters": {"epochs": "3"}, "checkpoints": "s3://bucket/prefix/", "name_suffix": "trial-7"}'
_STAMP = "States.ArrayGetItem($.named.time, {})"


def input_states(plan: MachinePlan, *, then: str) -> States:
    """Return the states from `CheckInput` to `then`, which finds `$.run`, `$.place`, `$.with` and `$.attempt`.

    Choice states know neither patterns nor types of members: a name that the service does not take is refused by it,
    in `CreateJob`, in its own words.
    """
    request = plan.request
    has_checkpoints = "CheckpointConfig" in request
    return {
        "CheckInput": choice(_faults(has_checkpoints), otherwise="ReadInput"),
        **_refusals(has_checkpoints),
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
            {"asked.$": "States.JsonMerge($.known, $.given, false)", "place.$": "$.place"}, at=None, then="ListKeys"
        ),
        "ListKeys": put({"values.$": "$.asked.*"}, at="$.keys", then="CountKeys"),
        "CountKeys": put({"count.$": "States.ArrayLength($.keys.values)"}, at="$.keys", then="KnownKeys"),
        "KnownKeys": choice(
            [{"Variable": "$.keys.count", "NumericEquals": len(INPUT_KEYS), "Next": "NameRun"}], otherwise="UnknownKey"
        ),
        **_naming(plan.name),
        **(_placing() if has_checkpoints else {"PlaceRun": put({"uri": ""}, at="$.checkpoints", then="MergeHyper")}),
        "MergeHyper": put(
            {"hyperparameters.$": "States.JsonMerge($.place.hyperparameters, $.asked.hyperparameters, false)"},
            at="$.with",
            then="FirstAttempt",
        ),
        "FirstAttempt": put({"number": 1, "followed": 0, "job.$": "$.run.name"}, at="$.attempt", then=then),
    }


def _placing() -> States:
    """Give the run a place for its checkpoints: one of its own, or the one it is to resume from."""
    return {
        "PlaceRun": choice(
            [{"Variable": "$.asked.checkpoints", "StringEquals": "", "Next": "OwnCheckpoints"}],
            otherwise="GivenCheckpoints",
        ),
        "OwnCheckpoints": put(
            {"uri.$": "States.Format('{}/{}/', $.place.checkpoints, $.run.name)"}, at="$.checkpoints", then="MergeHyper"
        ),
        "GivenCheckpoints": put({"uri.$": "$.asked.checkpoints"}, at="$.checkpoints", then="MergeHyper"),
    }


def _naming(name: str) -> States:
    """Name the run: by the input, or by the time it was started with four hex digits that no two share in a second."""
    time = ", ".join(_STAMP.format(index) for index in range(6))
    return {
        "NameRun": choice(
            [{"Variable": "$.asked.name_suffix", "StringEquals": "", "Next": "StampRun"}], otherwise="NamedRun"
        ),
        "NamedRun": put({"name.$": f"States.Format('{name}-{{}}', $.asked.name_suffix)"}, at="$.run", then="PlaceRun"),
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


def _refusals(has_checkpoints: bool) -> States:
    keys = ", ".join(INPUT_KEYS)
    told = {
        "NoObject": f"the input must be a JSON object, e.g. {_EXAMPLE}; an empty one runs the job as it was deployed",
        "UnknownKey": f"the input has a key that is not known; known are {keys}, e.g. {_EXAMPLE}",
        "BadHyper": 'hyperparameters must be an object of texts, e.g. {"epochs": "3"}',
        "BadSuffix": "name_suffix must be a text; the job is called after it, so it has letters, digits and hyphens",
    }
    if has_checkpoints:
        told["BadCheckpoints"] = "checkpoints must be a place in S3 to resume from, e.g. s3://bucket/prefix/"
    else:
        told["NoCheckpoints"] = "this job keeps no checkpoints, so there are none to resume from; deploy it with some"
    return {name: {"Type": "Fail", "Error": "BadInput", "Cause": cause} for name, cause in told.items()}
