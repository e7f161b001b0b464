"""All errors of a file are reported together, in its structure and in its values, in the order of its lines."""

import pytest

from llm_fleet.fleet_file.document import LocatedProblem
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.problem import FleetError

MANY = """\
fleet: My Fleet
region: us-wset-2
network: {az: usw2-az4, internets: nat}
storage:
  fsx: {size: 1300 GiB, throughput: 250}
  home: {size: 1 GiB}
  buckets: {data: {name: Under_Score}, data: {}}
clusters:
  ml_cluster:
    kind: hyperpod
    slurm_config: Merge
    groups:
      controller: {role: controller, type: m5.xlarge, count: 1, partition: p}
      workers: {role: compute, type: ml.trn1.32xlarge, count: "4"}
      more: {role: worker, type: ml.inf2.xlarge}
  empty:
tags: {a: 1}
"""

EXPECTED = [
    (1, "fleet", "LF118"),
    (2, "region", "LF558"),
    (3, "network.internets", "LF110"),
    (5, "storage.fsx.size", "LF302"),
    (5, "storage.fsx.throughput", "LF115"),
    (6, "storage.home.size", "LF331"),
    (7, "storage.buckets.data.name", "LF340"),
    (7, "storage.buckets.data", "LF107"),
    (9, "clusters.ml_cluster", "LF500"),
    (11, "clusters.ml_cluster.slurm_config", "LF525"),
    (13, "clusters.ml_cluster.groups.controller.type", "LF505"),
    (13, "clusters.ml_cluster.groups.controller.partition", "LF517"),
    (14, "clusters.ml_cluster.groups.workers.count", "LF113"),
    (14, "clusters.ml_cluster.groups.workers.partition", "LF516"),
    (15, "clusters.ml_cluster.groups.more.role", "LF114"),
    (15, "clusters.ml_cluster.groups.more.type", "LF506"),
    (15, "clusters.ml_cluster.groups.more.count", "LF111"),
    (16, "clusters.empty", "LF112"),
    (17, "tags.a", "LF113"),
]


def test_all_errors_are_reported_together() -> None:
    with pytest.raises(FleetError) as caught:
        parse_fleet(MANY)
    problems = [problem for problem in caught.value.problems if isinstance(problem, LocatedProblem)]
    assert [problem.line for problem in problems] == sorted(problem.line for problem in problems)
    reported = {(problem.line, problem.where, problem.code.value) for problem in problems}
    assert reported == set(EXPECTED), str(caught.value)


def test_the_placeholder_of_an_invalid_value_is_not_checked() -> None:
    """The placeholder for an invalid value causes no additional problem."""
    with pytest.raises(FleetError) as caught:
        parse_fleet("fleet: a\nregion: us-west-2\nnetwork: {az: 4}\nclusters: {ml: {kind: hyperpod, groups: 3}}\n")
    assert [(p.where, p.code.value) for p in caught.value.problems] == [
        ("network.az", "LF113"),
        ("clusters.ml.groups", "LF113"),
    ]


def test_a_mistake_that_affects_two_clusters_is_reported_once() -> None:
    cluster = "{kind: hyperpod, groups: {c: {role: controller, type: ml.m5.xlarge, count: 1}}}"
    text = (
        "fleet: a\nregion: us-west-2\nnetwork: none\nstorage: {fsx: {size: 4800 GiB}}\n"
        f"clusters: {{one: {cluster}, two: {cluster}}}\n"
    )
    with pytest.raises(FleetError) as caught:
        parse_fleet(text)
    assert [(p.where, p.code.value) for p in caught.value.problems] == [("storage.fsx", "LF529")]


@pytest.mark.parametrize("network", ["", "network: nothing\n", "network:\n"])
def test_a_wrong_network_is_not_reported_at_the_file_system(network: str) -> None:
    cluster = "{kind: hyperpod, groups: {c: {role: controller, type: ml.m5.xlarge, count: 1}}}"
    text = f"fleet: a\nregion: us-west-2\n{network}storage: {{fsx: {{size: 4800 GiB}}}}\nclusters: {{one: {cluster}}}\n"
    with pytest.raises(FleetError) as caught:
        parse_fleet(text)
    assert {p.where for p in caught.value.problems} == {"network"}
