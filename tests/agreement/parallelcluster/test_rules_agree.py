"""llm-fleet's rules and ParallelCluster's validators agree on every defect of the tables."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

import pytest

from llm_fleet.parallelcluster.render_configuration import render_configuration
from llm_fleet.rules.parallelcluster.nodes import capacity_reservation_of
from llm_fleet.rules.parallelcluster.parallelcluster import check_parallelcluster
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from llm_fleet.spec.parallelcluster_queue import Queue
from llm_fleet_local.parallelcluster.client import Oracle
from tests.agreement.parallelcluster import defects, defects_of_accounting
from tests.agreement.parallelcluster.defect import GOOD, Defect
from tests.agreement.parallelcluster.defects import DEFECTS
from tests.agreement.parallelcluster.not_ours import NOT_OURS
from tests.agreement.parallelcluster.package import validators
from tests.rules.parallelcluster.shapes import changed

HASH = "-0123abcd"


def parallelcluster_errors(oracle: Oracle, cluster: PlacedParallelCluster) -> list[tuple[str, str]]:
    """Return ParallelCluster's validators that reject `cluster`, without llm-fleet's checks, and their messages."""
    found = oracle.validate(render_configuration(cluster), cluster.cluster_name + HASH)
    return [(finding.validator, finding.message) for finding in found if finding.level == "ERROR"]


def alone(oracle: Oracle, defect: Defect) -> list[tuple[str, str]]:
    """Return the messages of the defect's validator for the defect's own arguments."""
    found = oracle.execute(defect.validator, **defect.alone)
    return [(finding.validator, finding.message) for finding in found if finding.level == "ERROR"]


@pytest.mark.parametrize("defect", DEFECTS, ids=str)
def test_both_reject_each_defect(defect: Defect, oracle: Oracle):
    assert {problem.code for problem in check_parallelcluster(defect.cluster)} == {defect.code}
    theirs = parallelcluster_errors(oracle, defect.cluster) if not defect.alone else alone(oracle, defect)
    assert any(validator == defect.validator and defect.said in message for validator, message in theirs), theirs


def test_parallelcluster_accepts_the_similar_valid_clusters(oracle: Oracle):
    """tests/rules/parallelcluster/test_remedies.py checks that llm-fleet accepts them as well."""
    neighbors = {repr(cluster): cluster for cluster in merged([defect.good for defect in DEFECTS])}.values()
    rejected = [
        (differences_from_good(cluster), errors)
        for cluster in neighbors
        if (errors := parallelcluster_errors(oracle, cluster))
    ]
    assert rejected == []


def differences_from_good(cluster: PlacedParallelCluster) -> dict[str, Any]:
    """The attributes in which `cluster` differs from the good cluster."""
    values = {field.name: getattr(cluster, field.name) for field in fields(cluster)}
    return {name: value for name, value in values.items() if value != getattr(GOOD, name)}


def merged(clusters: Sequence[PlacedParallelCluster]) -> Iterator[PlacedParallelCluster]:
    """Yield the same clusters; those that differ in only one queue are merged into one, because each check is slow."""
    queues: list[Queue] = []
    for cluster in clusters:
        if not _differs_in_one_queue(cluster):
            yield cluster
        elif cluster.queues[0] not in queues:
            queues.append(cluster.queues[0])
    for start in range(0, len(queues), 20):
        named = [changed(queue, name=f"q{index}") for index, queue in enumerate(queues[start : start + 20])]
        yield changed(GOOD, queues=tuple(named))


def _differs_in_one_queue(cluster: PlacedParallelCluster) -> bool:
    """Whether only the one queue differs from the good cluster; a reservation would be shared with others."""
    queue = cluster.queues[0]
    return (
        changed(cluster, queues=GOOD.queues) == GOOD
        and [each.name for each in cluster.queues] == ["work"]
        and len(queue.compute_resources) == 1
        and capacity_reservation_of(queue, queue.compute_resources[0]) is None
    )


def test_names_of_defects_are_unique():
    names = [defect.name for defect in DEFECTS]
    assert sorted(names) == sorted(set(names))


OURS = {defect.validator for defect in (*defects.DEFECTS, *defects_of_accounting.DEFECTS)}


def test_every_validator_has_a_rule_or_a_reason():
    neither = {name: module for name, module in validators().items() if name not in OURS and name not in NOT_OURS}
    assert neither == {}


def test_no_validator_has_both_a_rule_and_a_reason():
    assert sorted(OURS & set(NOT_OURS)) == []


def test_no_reason_is_given_for_an_unknown_validator():
    assert sorted(set(NOT_OURS) - set(validators())) == []


def test_the_package_has_as_many_validators_as_were_reviewed():
    assert len(validators()) > 100
