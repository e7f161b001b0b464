"""The conditions that a watch knows."""

from collections.abc import Sequence

from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.sagemaker.watch.loss_spike import LossSpike
from llm_fleet.sagemaker.watch.not_a_number import NotANumber
from llm_fleet.sagemaker.watch.stall import Stall
from llm_fleet.sagemaker.watch.throughput_drop import ThroughputDrop

WatchCondition = LossSpike | Stall | NotANumber | ThroughputDrop

CONDITIONS: tuple[type[WatchCondition], ...] = (LossSpike, Stall, NotANumber, ThroughputDrop)


def metrics_of(conditions: Sequence[WatchCondition]) -> dict[str, str]:
    """Return the metrics that `conditions` look at, by their kinds."""
    return {condition.kind: condition.metric for condition in conditions}


def check_kinds(conditions: Sequence[WatchCondition]) -> list[Problem]:
    """Return a problem for each condition of a kind that is there already: a job has one alarm of each."""
    kinds = [condition.kind for condition in conditions]
    return [
        Problem(
            code=SageMakerCode.WATCH_TWICE,
            path=("conditions", index),
            value=conditions[index],
            message=f"there is a {type(conditions[index]).__name__} already, and a job has one alarm of each kind",
            remedy="keep one of them; a job of other metrics takes conditions of its own",
        )
        for index, kind in enumerate(kinds)
        if kind in kinds[:index]
    ]
