"""What a big cluster costs: 2500 compute resources are made, checked and rendered in well under a second."""

from time import process_time
from typing import Any

from llm_fleet.parallelcluster.render_configuration import render_configuration
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.check import check_parallelcluster
from llm_fleet.rules.parallelcluster.configuration import check_configuration
from llm_fleet.rules.problem import Problem
from tools.bench.fifty_queues import MANY, many_queues

ROUNDS = 3
SECONDS = 1.0
"""What is promised, with the synth that `make bench` counts in. It takes a quarter of it, of the
processor's time: what else runs on the machine does not count."""


def made_and_rendered() -> tuple[float, list[Problem], list[Problem], dict[str, Any]]:
    """The seconds of processor that it took, what the rules and the schema say, and the configuration."""
    start = process_time()
    cluster = many_queues()
    problems = check_parallelcluster(cluster)
    configuration = render_configuration(cluster)
    mistakes = check_configuration(configuration)
    return process_time() - start, problems, mistakes, configuration


def test_fifty_queues_of_fifty_compute_resources() -> None:
    rounds = [made_and_rendered() for _ in range(ROUNDS)]
    # The least, not the median: what else runs on the machine only ever adds.
    assert min(seconds for seconds, *_ in rounds) < SECONDS
    _, problems, mistakes, configuration = rounds[0]
    assert {problem.code for problem in problems} == {Code.PC_RESOURCE_NUMBER}, "the limit is 50 in a cluster"
    assert {problem.code for problem in mistakes} == {Code.PC_KEY_MISSING}, "no subnet is known"
    rendered = configuration["Scheduling"]["SlurmQueues"]
    assert [len(queue["ComputeResources"]) for queue in rendered] == [MANY] * MANY
