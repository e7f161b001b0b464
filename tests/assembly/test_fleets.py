"""The fleets of `fleets.yaml`: what their stacks make together is legal, and can be deleted again."""

from pathlib import Path
from typing import Any

import pytest

from tests.assembly.checks import EVERY_CHECK, consumers_skipped, replaced
from tests.assembly.fleets import names, synthesize, text_of


def test_there_are_thirty() -> None:
    assert len(names()) >= 30


@pytest.mark.parametrize("name", names())
def test_the_stacks_of_a_fleet_fit_together(name: str, tmp_path: Path) -> None:
    assembly = synthesize(text_of(name), tmp_path)
    assert {check.__name__: found for check in EVERY_CHECK if (found := check(assembly))} == {}


KEY = "arn:aws:kms:us-west-2:111122223333:key/01234567-89ab-cdef-0123-456789abcdef"


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        ({"network": {"cidr": "10.8.0.0/16"}}, "monitored-network.Network1C6012B5"),
        ({"storage": {"fsx": {"key": KEY}}}, "monitored-storage.Lustre"),
        ({"storage": {"home": {"key": KEY}}}, "monitored-storage.Home"),
        ({"storage": {"slurm_database": {"key": KEY}}}, "monitored-database.Database"),
    ],
    ids=["cidr", "key of Lustre", "key of the home directories", "key of the database"],
)
def test_no_stack_goes_on_with_what_a_change_replaces(change: dict[str, Any], gone: str, tmp_path: Path) -> None:
    before = synthesize(text_of("monitored"), tmp_path / "before")
    after = synthesize(text_of("monitored", change), tmp_path / "after")
    assert any(place.startswith(gone) for place in replaced(before, after))
    assert consumers_skipped(before, after) == []
