"""Steps of amounts."""

import pytest

from llm_fleet.catalog.data_file import Steps

LADDER = Steps(single=(1200,), step=2400, most=9600)


@pytest.mark.parametrize("amount", [1200, 2400, 4800, 9600])
def test_on_the_ladder(amount: int):
    assert LADDER.accepts(amount)


@pytest.mark.parametrize("amount", [-2400, 0, 1, 1201, 3600, 12000])
def test_off_the_ladder(amount: int):
    assert not LADDER.accepts(amount)


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
def test_the_nearest_on_either_side(amount: int, around: tuple[int | None, int | None]):
    assert LADDER.nearest(amount) == around


def test_words():
    assert LADDER.describe("GiB") == "1200 GiB and multiples of 2400 GiB up to 9600 GiB"
    assert Steps(step=6000).describe("GiB") == "multiples of 6000 GiB"
    assert Steps(single=(64, 128)).describe("MB/s") == "64, 128 MB/s"
