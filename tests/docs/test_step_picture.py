"""The picture of the steps is current: `make golden` draws it again."""

import os
import re
from dataclasses import replace

import pytest

from tools.step_picture import TARGET, every_step, picture


def test_the_generated_picture_is_up_to_date():
    drawn = picture(every_step())
    if os.environ.get("UPDATE_GOLDEN"):
        TARGET.write_text(drawn, encoding="utf-8")
    assert TARGET.read_text(encoding="utf-8") == drawn, "run `python -m tools.step_picture`"


def test_every_step_is_drawn_to_the_right_of_its_dependencies():
    steps = every_step()
    places = {
        name: int(x)
        for x, name in re.findall(r'<rect class="box" x="(\d+)".*?<text[^>]*>([a-z0-9_]+)<', picture(steps))
    }
    assert places.keys() == steps.keys()
    for name, step in steps.items():
        for before in {*step.needs, *step.after} & steps.keys():
            assert places[before] < places[name], f"{name} waits for {before}"


def test_a_circular_dependency_is_reported():
    steps = {name: step for name, step in every_step().items() if name in ("hosts", "clock")}
    steps["hosts"] = replace(steps["hosts"], needs=("clock",))
    steps["clock"] = replace(steps["clock"], needs=("hosts",))
    with pytest.raises(ValueError, match="wait for each other: \\['clock', 'hosts'\\]"):
        picture(steps)
