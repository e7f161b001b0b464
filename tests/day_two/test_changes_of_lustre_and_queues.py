"""Changes of HyperPod clusters with Lustre, and of ParallelCluster's queues: each file runs in a separate process."""

import pytest

from tests.day_two.changes import Stage, assert_does_what_plan_said, changes_of

pytestmark = pytest.mark.usefixtures("few_scripts")


@pytest.mark.parametrize("name", changes_of("train", "queues"))
def test_a_change_does_what_plan_said(name: str, stage: Stage) -> None:
    assert_does_what_plan_said(name, stage)
