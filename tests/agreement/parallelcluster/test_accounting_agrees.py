"""For each rule of accounting, ParallelCluster's own validator rejects the same and accepts a similar valid cluster."""

import pytest

from llm_fleet.rules.parallelcluster.parallelcluster import check_parallelcluster
from llm_fleet_local.parallelcluster.client import Oracle
from tests.agreement.parallelcluster.defect import Defect
from tests.agreement.parallelcluster.defects_of_accounting import DEFECTS
from tests.agreement.parallelcluster.test_rules_agree import alone, parallelcluster_errors


@pytest.mark.parametrize("defect", DEFECTS, ids=str)
def test_both_reject_each_accounting_defect(defect: Defect, oracle: Oracle):
    assert {problem.code for problem in check_parallelcluster(defect.cluster)} == {defect.code}
    theirs = parallelcluster_errors(oracle, defect.cluster) if not defect.alone else alone(oracle, defect)
    assert any(validator == defect.validator and defect.said in message for validator, message in theirs), theirs


def test_both_accept_the_similar_valid_accounting(oracle: Oracle):
    for good in {repr(defect.good): defect.good for defect in DEFECTS}.values():
        assert check_parallelcluster(good) == []
        assert parallelcluster_errors(oracle, good) == []
