"""Since when it has been bad, by what an alarm tells of itself."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

_TIME = "%Y-%m-%dT%H:%M:%S.%f%z"
_ABOVE = ("GreaterThanThreshold", "GreaterThanOrEqualToThreshold")


def onset_of(alarm: Mapping[str, Any]) -> float:
    """Return when the first bad datapoint began, in seconds since 1970, for an alarm that is on.

    DescribeAlarms' answer: the alarm was bad for as many periods as it asks for before it went on, and may name the
    datapoints that it looked at; one that was made late goes on late for what was bad before.
    """
    changed: datetime = alarm.get("StateTransitionedTimestamp") or alarm["StateUpdatedTimestamp"]
    periods = [query["MetricStat"]["Period"] for query in alarm.get("Metrics", ()) if "MetricStat" in query]
    period = max([alarm.get("Period") or 0, *periods])
    asked = changed.timestamp() - period * (alarm.get("DatapointsToAlarm") or alarm["EvaluationPeriods"])
    return min([asked, *_bad_datapoints(alarm)])


def _bad_datapoints(alarm: Mapping[str, Any]) -> Iterator[float]:
    # StateReasonData is JSON whose form only examples show (docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/
    # cloudwatch-and-eventbridge.html): what is not as there is passed over.
    try:
        points = json.loads(alarm.get("StateReasonData") or "{}").get("evaluatedDatapoints", [])
        above, threshold = alarm["ComparisonOperator"] in _ABOVE, float(alarm["Threshold"])
        for point in points:
            value = float(point["value"])
            if (value > threshold) if above else (value < threshold):
                yield datetime.strptime(point["timestamp"], _TIME).timestamp()
    except (ValueError, TypeError, KeyError, AttributeError):
        return
