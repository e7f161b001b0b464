"""Amounts in steps."""

import pytest

from llm_fleet.catalog.data_file import Steps

STEPS = Steps(single=(1200,), step=2400, most=9600)


@pytest.mark.parametrize("amount", [1200, 2400, 4800, 9600])
def test_amounts_on_a_step_are_accepted(amount: int):
    assert STEPS.accepts(amount)


@pytest.mark.parametrize("amount", [-2400, 0, 1, 1201, 3600, 12000])
def test_amounts_between_steps_are_rejected(amount: int):
    assert not STEPS.accepts(amount)


@pytest.mark.parametrize(
    ("amount", "around"),
    [
        (-5, (None, 1200)),
        (1, (None, 1200)),
        (1300, (1200, 2400)),
        (2400, (1200, 4800)),
        (9600, (7200, None)),
        (10**9, (9600, None)),
    ],
)
def test_the_nearest_steps_below_and_above(amount: int, around: tuple[int | None, int | None]):
    assert STEPS.nearest(amount) == around


def test_steps_are_described_in_words():
    assert STEPS.describe("GiB") == "1200 GiB and multiples of 2400 GiB up to 9600 GiB"
    assert Steps(step=6000).describe("GiB") == "multiples of 6000 GiB"
    assert Steps(single=(64, 128)).describe("MB/s") == "64, 128 MB/s"
