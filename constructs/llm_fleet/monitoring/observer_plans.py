"""Which alarms the function has that looks at clusters: without it, those on clusters are blind."""

from types import MappingProxyType

from llm_fleet.monitoring.cluster_measures import PERIOD
from llm_fleet.notifications.alarm_plan import AlarmPlan
from llm_fleet.notifications.metric import ServiceMetric

_HALF_HOUR = 6
"""In periods of five minutes: as many runs."""


def observer_plans(function_name: str) -> tuple[AlarmPlan, ...]:
    """Return when somebody must look at the function itself."""

    def metric(name: str) -> ServiceMetric:
        return ServiceMetric(
            namespace="AWS/Lambda",
            name=name,
            dimensions=MappingProxyType({"FunctionName": function_name}),
            statistic="Sum",
            period_seconds=PERIOD,
            label=name,
        )

    return (
        AlarmPlan(
            id="ObserverFails",
            measure=metric("Errors"),
            threshold=1,
            periods=_HALF_HOUR,
            ringing=3,
            missing="notBreaching",
            meaning="The function that counts nodes has failed in three of its last six runs: alarms on nodes may be "
            "blind. Its log says which cluster it could not look at, and why; a right that is missing is named there.",
        ),
        AlarmPlan(
            id="ObserverAsleep",
            measure=metric("Invocations"),
            threshold=1,
            below=True,
            periods=_HALF_HOUR,
            ringing=_HALF_HOUR,
            missing="missing",
            tells_silence=True,
            meaning="The function that counts nodes has not run for half an hour: alarms on nodes are blind. Look "
            "whether its rule is enabled, and whether the account's Lambda functions are throttled.",
        ),
    )
