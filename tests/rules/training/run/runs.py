"""Valid training runs, to which tests add mistakes."""

from typing import Any

from llm_fleet.jobs.settings import TrainingRun
from llm_fleet.rules.problem import FleetError, Problem
from llm_fleet.spec.jobs import TrainingData, TrainingPartition

SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:hub-AbCdEf"
LLAMA_2_7B, LLAMA_3_8B, LLAMA_3_70B = "meta-llama/Llama-2-7b-hf", "meta-llama/Meta-Llama-3-8B", "meta-llama/Llama-3-70B"


def partition(instance_type: str = "ml.trn1.32xlarge", nodes: int = 4, **changes: Any) -> TrainingPartition:
    """Return a partition with everything that a run requires."""
    good: dict[str, Any] = {"hub_token_secret_arn": SECRET, **changes}
    return TrainingPartition(cluster="ml", name="nodes", instance_type=instance_type, nodes=nodes, **good)


def values(**changes: Any) -> dict[str, Any]:
    """Return the arguments of a valid run with `changes`."""
    good = {"name": "llama", "partition": partition(), "model": LLAMA_2_7B, "data": TrainingData(place="me/corpus")}
    return {**good, **changes}


def run(**changes: Any) -> TrainingRun:
    """Return a valid run with `changes`."""
    return TrainingRun(**values(**changes))


def problems(**changes: Any) -> tuple[Problem, ...]:
    """Return the problems of the run with `changes`; a valid run has none."""
    try:
        run(**changes)
    except FleetError as error:
        return error.problems
    return ()
