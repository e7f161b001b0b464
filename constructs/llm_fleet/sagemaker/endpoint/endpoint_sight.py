"""How an endpoint is seen: alarms, which also roll updates back, and a dashboard."""

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from llm_fleet.iam.permission import Permission
from llm_fleet.notifications.metric_alarms import MetricAlarms
from llm_fleet.rules.sagemaker.endpoint_rollout import has_guardrails
from llm_fleet.sagemaker.endpoint.endpoint_alarm_plans import ROLLBACK, TIME_TO_LIVE, endpoint_alarm_plans
from llm_fleet.sagemaker.endpoint.endpoint_dashboard import dashboard_name, endpoint_dashboard
from llm_fleet.sagemaker.endpoint.endpoint_metrics import EndpointMetrics
from llm_fleet.sagemaker.endpoint.operations import EndpointOperations
from llm_fleet.sagemaker.endpoint.render_rollout import render_rollout

_RETAINED_BUT = "DataCaptureConfig"


class EndpointSight(Construct):
    """Alarms and dashboard of an endpoint, known by its name alone: they are there before it, to watch its updates."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        operations: EndpointOperations,
        endpoint_name: str,
        variant_name: str,
        instance_type: str,
        log_group: logs.CfnLogGroup,
    ) -> None:
        """Make them. `instance_type`: some cannot be updated under the eyes of alarms. `log_group`: where it writes."""
        super().__init__(scope, id)
        self._operations = operations
        self._guarded = has_guardrails(instance_type)
        self.metrics = EndpointMetrics(endpoint_name=endpoint_name, variant_name=variant_name)
        """What SageMaker publishes of it."""
        self.plans = endpoint_alarm_plans(self.metrics, operations.alarm_thresholds)
        """What each alarm looks at and means."""
        made = MetricAlarms(self, "Alarms", plans=self.plans, name_prefix=endpoint_name, topic=operations.alarm_topic)
        self.alarms = made.alarms
        """The L1s by the ids of their plans: `ServerErrors`, `Latency`, `Idle`."""
        self.rollback_alarm_names = tuple(f"{endpoint_name}-{id}" for id in ROLLBACK) if self._guarded else ()
        """Names of those that roll an update back."""
        self.dashboard = self._make_dashboard(endpoint_name, log_group)
        """The L1 of the dashboard."""

    def deployment_config(self) -> sagemaker.CfnEndpoint.DeploymentConfigProperty | None:
        """Return how updates reach the endpoint; `None` for instances that SageMaker updates in one way only."""
        if not self._guarded:
            return None
        return render_rollout(self._operations.rollout, self.rollback_alarm_names)

    def update_arguments(self) -> dict[str, Any]:
        """Return what keeps an update of a scaling endpoint from putting its number of instances back."""
        if self._operations.scaling is None:
            return {}
        changed = sagemaker.CfnEndpoint.VariantPropertyProperty(variant_property_type=_RETAINED_BUT)
        return {"retain_all_variant_properties": True, "exclude_retained_variant_properties": [changed]}

    def before(self, endpoint: sagemaker.CfnEndpoint) -> None:
        """Let `endpoint` come after the alarms that roll it back, and go before them."""
        for id in ROLLBACK if self._guarded else ():
            endpoint.add_resource_dependency(self.alarms[id])

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """What the endpoint's role must be allowed, so that updates are rolled back (SageMaker's guide says so)."""
        if not self._guarded:
            return ()
        # Of composite alarms CloudWatch tells nothing to who may not look at all (DescribeAlarms), and of an alarm of
        # the user's nobody knows here whether it is one.
        others = bool(len(self._operations.rollout.alarm_names))
        return (
            Permission(
                sid="RollbackAlarms",
                actions=("cloudwatch:DescribeAlarms",),
                resources=("*",) if others else tuple(self._alarm_arn(name) for name in self.rollback_alarm_names),
                reason="SageMaker looks at the alarms that roll an update back"
                + ("; CloudWatch shows composite ones to who may look at all, only" if others else ""),
            ),
        )

    def _alarm_arn(self, name: str) -> str:
        return cdk.Stack.of(self).format_arn(
            service="cloudwatch", resource="alarm", resource_name=name, arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME
        )

    def _make_dashboard(self, endpoint_name: str, log_group: logs.CfnLogGroup) -> cloudwatch.CfnDashboard:
        stack = cdk.Stack.of(self)
        arns = [alarm.attr_arn for alarm in self.alarms.values()]
        if self._operations.time_to_live:  # made after the endpoint, so told by its name
            arns.append(self._alarm_arn(f"{endpoint_name}-{TIME_TO_LIVE}"))
        body = endpoint_dashboard(
            self.metrics, self.plans, alarm_arns=arns, log_group_name=log_group.ref, region=stack.region
        )
        return cloudwatch.CfnDashboard(
            self,
            "Dashboard",
            dashboard_name=dashboard_name(endpoint_name, stack.region),
            dashboard_body=stack.to_json_string(body),
        )
