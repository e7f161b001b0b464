"""The dashboard of an inference service."""

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from llm_fleet.inference.dashboard_body import dashboard_body
from llm_fleet.inference.service_alarms import ServiceAlarms
from llm_fleet.inference.service_metrics import ServiceMetrics


class ServiceDashboard(Construct):
    """One page on a service: its alarms, what clients feel, what servers do, its hosts, and what to do about alarms."""

    def __init__(
        self, scope: Construct, id: str, *, metrics: ServiceMetrics, alarms: ServiceAlarms, tasks_at_most: int
    ) -> None:
        """Make `<service>-<region>`: an account has a dashboard of one name in all its regions (API_PutDashboard).

        `tasks_at_most`: how many tasks there may be.
        """
        super().__init__(scope, id)
        stack = cdk.Stack.of(self)
        body = dashboard_body(
            metrics,
            alarms.plans,
            alarm_arns=[alarm.attr_arn for alarm in alarms.alarms.values()],
            region=stack.region,
            tasks_at_most=tasks_at_most,
        )
        self.dashboard = cloudwatch.CfnDashboard(
            self,
            "Resource",
            dashboard_name=f"{metrics.service_name}-{stack.region}",
            dashboard_body=stack.to_json_string(body),
        )
        """The L1 beneath."""
