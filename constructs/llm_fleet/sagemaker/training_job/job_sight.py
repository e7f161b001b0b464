"""What is to be seen of a training job: alarms on its runs, and a page on their metrics."""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.notifications.dashboard_page import alarm_widget, graph, page, text_widget
from llm_fleet.notifications.metric_alarms import AlarmPlan, MetricAlarms, MetricMath, ServiceMetric
from llm_fleet.sagemaker.training_job.run_alarms import JOB_DIMENSION, NAMESPACE

_HOST = ("GPUUtilization", "GPUMemoryUtilization", "CPUUtilization", "MemoryUtilization", "DiskUtilization")
_FIVE_MINUTES = 300


class JobSight(Construct):
    """Alarms on runs that failed, outlasted their machine or were ended, and a dashboard of all runs by their names."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        name: str,
        state_machine_arn: str,
        metrics: Sequence[str],
        stop_command: str,
        topic: sns.ITopic | None,
        dashboard: bool,
    ) -> None:
        """Watch the machine of the job `name`. `metrics`: names of its metric definitions."""
        super().__init__(scope, id)
        plans = run_plans(state_machine_arn, stop_command=stop_command)
        self.alarms = MetricAlarms(self, "Alarms", plans=plans, name_prefix=f"runs-{name}", topic=topic)
        """On executions; those on metrics of single jobs come and go with the jobs."""
        self.dashboard: cloudwatch.CfnDashboard | None = None
        """The L1 beneath; `None` without one."""
        if dashboard:
            stack = cdk.Stack.of(self)
            rows = [
                [alarm_widget([alarm.attr_arn for alarm in self.alarms.alarms.values()])],
                [graph("Runs", *(execution_metric(state_machine_arn, kind) for kind in _KINDS))],
                *_metric_rows(name, metrics),
                [text_widget(plans)],
            ]
            self.dashboard = cloudwatch.CfnDashboard(
                self,
                "Dashboard",
                dashboard_name=f"{name}-{stack.region}",
                dashboard_body=stack.to_json_string(page(rows, stack.region)),
            )


_KINDS = ("ExecutionsStarted", "ExecutionsSucceeded", "ExecutionsFailed", "ExecutionsAborted", "ExecutionsTimedOut")


def execution_metric(state_machine_arn: str, kind: str) -> ServiceMetric:
    """Return how many executions of a machine were of a kind, e.g. `ExecutionsFailed`."""
    return ServiceMetric(
        namespace="AWS/States",
        name=kind,
        dimensions={"StateMachineArn": state_machine_arn},
        statistic="Sum",
        period_seconds=_FIVE_MINUTES,
        label=kind.removeprefix("Executions"),
    )


def run_plans(state_machine_arn: str, *, stop_command: str) -> tuple[AlarmPlan, ...]:
    """Return the alarms on runs."""
    meanings = {
        "Failed": ("ExecutionsFailed", "A run of the job failed; the execution's error and cause say why."),
        "Aborted": (
            "ExecutionsAborted",
            f"Somebody ended a run's execution, and its job goes on. To stop that: {stop_command}",
        ),
    }
    return tuple(
        AlarmPlan(
            id=id,
            measure=execution_metric(state_machine_arn, kind),
            threshold=1,
            periods=1,
            ringing=1,
            missing="notBreaching",
            meaning=meaning,
        )
        for id, (kind, meaning) in meanings.items()
    )


def _metric_rows(name: str, metrics: Sequence[str]) -> list[list[dict[str, object]]]:
    """Return graphs of all jobs of the name, two a row: no job is known when the page is made, so they are searched.

    A search takes words: another job whose name has all words of this one's is found, too.
    """
    graphs = [graph(metric, _search(JOB_DIMENSION, metric, name)) for metric in metrics]
    graphs += [graph(metric, _search("Host", metric, name)) for metric in _HOST]
    return [graphs[index : index + 2] for index in range(0, len(graphs), 2)]


def _search(dimension: str, metric: str, name: str) -> MetricMath:
    words = f'{{{NAMESPACE},{dimension}}} MetricName="{metric}" {dimension}={name}'
    return MetricMath(expression=f"SEARCH('{words}', 'Average', 60)", label="")
