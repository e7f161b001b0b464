"""The alarms of a job, from its metrics: put by the machine when a job starts, deleted when it has ended."""

from collections.abc import Iterator, Mapping
from typing import Any

from llm_fleet.catalog.training_job import job_machine_fact
from llm_fleet.sagemaker.training_job.machine_plan import RunAlarm
from llm_fleet.spec.training_job_data import JobMetric

NAMESPACE = "/aws/sagemaker/TrainingJobs"
JOB_DIMENSION = "TrainingJobName"
"""Dimension of what metric definitions read from a log; the SageMaker SDK's TrainingJobAnalytics asks by it. What the
instances are measured by (GPUUtilization …) has `Host` in its place: `<job>/algo-1`."""


def run_alarms(metrics: Mapping[str, JobMetric], *, topic_arn: str | None) -> tuple[RunAlarm, ...]:
    """Return the alarms on thresholds of `metrics`; they tell `topic_arn`, or nobody."""
    return tuple(alarm for name, metric in metrics.items() for alarm in _alarms(name, metric, topic_arn))


def _alarms(name: str, metric: JobMetric, topic_arn: str | None) -> Iterator[RunAlarm]:
    bounds = (("above", metric.above, "GreaterThanThreshold"), ("below", metric.below, "LessThanThreshold"))
    for side, threshold, operator in bounds:
        if threshold is None:
            continue
        periods: int = job_machine_fact("alarm_periods")
        request: dict[str, Any] = {
            "AlarmDescription": f"{name} of the training job in the alarm's name is {side} {threshold}. Look at "
            "the job's log; aws sagemaker stop-training-job stops it.",
            "Namespace": NAMESPACE,
            "MetricName": name,
            "Statistic": "Average",
            "Period": job_machine_fact("alarm_period_seconds"),
            "EvaluationPeriods": periods,
            "DatapointsToAlarm": periods,
            "ComparisonOperator": operator,
            "Threshold": threshold,
            "TreatMissingData": "ignore",
        }
        if topic_arn:
            request |= {"AlarmActions": [topic_arn], "OKActions": [topic_arn]}
        yield RunAlarm(suffix=f"{name}-{side}", request=request)
