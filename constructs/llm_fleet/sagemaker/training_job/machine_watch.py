"""The states that ask the watch's record what becomes of a job that ended.

The watch writes down a decision about every watched job: `restart`, with the `successor` and, once that job is there,
`created`; or something final, with the `reason` in words.
"""

from llm_fleet.sagemaker.training_job.machine_plan import WatchRecord
from llm_fleet.sagemaker.training_job.machine_steps import States, again, call, caught, choice, end_with, put

_ITEM = "$.record.Item"


def watch_states(watch: WatchRecord, partition: str) -> States:
    """Return the states from `AskWatch` on: what the watch decided, and the job that it made."""
    return {**_asking(watch, partition), **_following(watch)}


def _asking(watch: WatchRecord, partition: str) -> States:
    decided = {"Variable": f"{_ITEM}.decision.S", "IsPresent": True}
    restart = {"Variable": f"{_ITEM}.decision.S", "StringEquals": "restart"}
    made = {"Variable": f"{_ITEM}.created", "IsPresent": True}
    told = {"Variable": f"{_ITEM}.reason.S", "IsPresent": True}
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
            {"cause.$": "States.Format('{}; the record of the watch could not be read: {}', $.ended.cause, "
             "$.caught.Cause)"},
            then="RunFailed",
        ),
        "WhatDecided": choice(
            [
                {"And": [decided, {"Not": restart}, told], "Next": "WatchDecided"},
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
            {"cause.$": "States.Format('{}; the watch has not told in time what becomes of it', $.ended.cause)"},
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
            {"cause.$": "States.Format('{}; the watch goes on with {}, unfollowed', $.ended.cause, "
             "$.record.Item.successor.S)"},
            then="RunFailed",
        ),
    }  # fmt: skip
