"""Changes of clusters with accounting, of file systems without clusters, of services, and of SageMaker's parts."""

import pytest

from tests.day_two.changes import Stage, assert_does_what_plan_said, changes_of

pytestmark = pytest.mark.usefixtures("few_scripts")

FLEETS = ("lab", "files", "chat", "desk")


@pytest.mark.parametrize("name", changes_of(*FLEETS))
def test_a_change_does_what_plan_said(name: str, stage: Stage) -> None:
    assert_does_what_plan_said(name, stage)


def test_there_are_fifty() -> None:
    assert len(changes_of()) >= 50
    assert len(changes_of("train", "queues", *FLEETS)) == len(changes_of()), "a fleet of the table is in no test file"
