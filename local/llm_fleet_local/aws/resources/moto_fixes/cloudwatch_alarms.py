"""CloudWatch: composite alarms, which moto lists but cannot create, and dashboards with widgets and tags.

An update of an alarm keeps its state (PutMetricAlarm: "when you update an existing alarm, its state is left
unchanged").

Source: model botocore cloudwatch PutMetricAlarm
"""

import json
import re
from typing import Any, cast

from moto.cloudwatch.exceptions import CloudWatchException, ValidationError
from moto.cloudwatch.models import CloudWatchBackend
from moto.cloudwatch.responses import CloudWatchResponse
from moto.core.responses import ActionResult, EmptyResult

from llm_fleet_local.aws.resources.moto_fixes.kept_members import before, once

_KEPT = ("ActionsSuppressor", "ActionsSuppressorWaitPeriod", "ActionsSuppressorExtensionPeriod", "AlarmRule")
_NAMED = re.compile(r"(?:ALARM|OK|INSUFFICIENT_DATA)\s*\(\s*[\"']?([^\"')]+?)[\"']?\s*\)")


def install() -> None:
    """Add the operation, and validate the bodies of dashboards."""
    if once(CloudWatchResponse, "composite"):
        CloudWatchResponse.put_composite_alarm = put_composite_alarm  # type: ignore[attr-defined]
        before(CloudWatchResponse, "put_dashboard", _check_body)
        CloudWatchBackend.put_metric_alarm = _with_its_state(CloudWatchBackend.put_metric_alarm)  # type: ignore[method-assign]
        CloudWatchBackend.tag_resource = _with_dashboards(CloudWatchBackend.tag_resource)  # type: ignore[method-assign]


def _with_its_state(as_moto_does: Any) -> Any:
    def put_metric_alarm(self: Any, **given: Any) -> Any:
        before_it = self.alarms.get(given["name"])
        alarm = as_moto_does(self, **given)
        for name in ("state_value", "state_reason", "state_reason_data", "state_updated_timestamp", "history"):
            if before_it is not None:
                setattr(alarm, name, getattr(before_it, name))
        return alarm

    return put_metric_alarm


def _with_dashboards(as_moto_does: Any) -> Any:
    def tag_resource(self: Any, arn: str, tags: dict[str, str]) -> None:
        if arn in [dashboard.arn for dashboard in self.list_dashboards()]:
            self.tagger.tag_resource(arn, self.tagger.convert_dict_to_tags_input(tags))
            return
        as_moto_does(self, arn, tags)

    return tag_resource


def put_composite_alarm(self: Any) -> ActionResult:
    """Serve `PutCompositeAlarm`.

    Source: assumption composite-alarm-names-existing-alarms
    Source: assumption service-error-texts
    """
    given: dict[str, Any] = self._get_params()
    alarms: dict[str, Any] = self.cloudwatch_backend.alarms
    names = [name.rsplit(":alarm:", 1)[-1] for name in _NAMED.findall(given["AlarmRule"])]
    missing = [name for name in names if name not in alarms]
    if missing:
        raise ValidationError(f"The AlarmRule names alarms that do not exist: {', '.join(missing)}")
    made = self.cloudwatch_backend.put_metric_alarm(
        name=given["AlarmName"],
        namespace=None,
        metric_name=None,
        comparison_operator=None,
        evaluation_periods=None,
        period=None,
        threshold=None,
        statistic=None,
        description=given.get("AlarmDescription"),
        dimensions=[],
        alarm_actions=given.get("AlarmActions", []),
        ok_actions=given.get("OKActions", []),
        insufficient_data_actions=given.get("InsufficientDataActions", []),
        actions_enabled=given.get("ActionsEnabled", True),
        rule=given["AlarmRule"],
        tags=given.get("Tags", []),
    )
    for name in _KEPT:
        if name in given:
            setattr(made, name, given[name])
    return EmptyResult()


class _InvalidDashboard(CloudWatchException):
    """The model's error for an invalid dashboard body."""

    code = "InvalidParameterInput"


def _check_body(_: Any, given: dict[str, Any]) -> None:
    """Reject a body without a list of widgets, or with a widget without type or properties.

    Source: model botocore cloudwatch DashboardInvalidInputError
    Source: document
    https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html (2026-11)
    Source: assumption service-error-texts
    """
    try:
        body: Any = json.loads(given["DashboardBody"])
    except ValueError as error:
        raise _InvalidDashboard(f"The dashboard body is not JSON: {error}") from error
    if not isinstance(body, dict) or not isinstance(body.get("widgets"), list):  # pyright: ignore[reportUnknownMemberType]
        raise _InvalidDashboard("The dashboard body has no list `widgets`")
    for number, widget in enumerate(cast(list[Any], body["widgets"])):
        if "type" not in widget or "properties" not in widget:
            raise _InvalidDashboard(f"/widgets/{number}: type and properties are required")
