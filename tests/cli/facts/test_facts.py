"""`llm-fleet facts`, and the note of `llm-fleet validate` about old facts."""

import json
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.catalog.data_file import DataFile, every_data_file
from llm_fleet.cli.facts.ages import OLD_DAYS, as_text, facts_named, note_of_old, old_files
from llm_fleet.cli.main import main
from llm_fleet.cli.screen import Screen
from llm_fleet.rules.problem import FleetError

Capture = pytest.CaptureFixture[str]
EXAMPLE = Path(__file__).parents[3] / "examples" / "hyperpod-trn1.yaml"
CHECKED = date(2026, 11, 20)
"""The date of `instances`, on which the example depends."""
ON_THE_LIMIT = CHECKED + timedelta(days=OLD_DAYS)


def file(name: str, checked: date | None) -> DataFile:
    return DataFile(name=name, what=f"what {name} is", source=f"where {name} is from", checked=checked)


def facts_of(capsys: Capture, *words: str, today: date) -> list[dict[str, Any]]:
    assert main(["facts", "--json", *words], today=today) == 0
    return json.loads(capsys.readouterr().out)["facts"]


def test_facts_lists_every_file_and_every_source_of_prices(capsys: Capture) -> None:
    rows = facts_of(capsys, today=date(2027, 1, 1))
    assert {one.name for one in every_data_file()} < {row["name"] for row in rows}
    by_name = {row["name"]: row for row in rows}
    assert by_name["instances"]["age_days"] == (date(2027, 1, 1) - CHECKED).days == 42
    assert by_name["prices/karpenter"]["checked"] == "2026-01-19"
    assert (by_name["node_steps"]["checked"], by_name["node_steps"]["age_days"]) == (None, None)
    assert rows[0] == by_name["prices/karpenter"]  # The oldest is the first.


def test_only_shows_the_whole_source(capsys: Capture) -> None:
    assert main(["facts", "--only", "instances"], today=date(2027, 1, 1)) == 0
    shown = capsys.readouterr().out
    assert "hyperpod-attaches-efa-to-small-types" in shown
    assert "2026-11-20" in shown
    assert " 42 " in shown
    assert main(["facts"], today=date(2027, 1, 1)) == 0
    assert "hyperpod-attaches-efa-to-small-types" not in capsys.readouterr().out


def test_an_unknown_name_is_reported_with_the_nearest(capsys: Capture) -> None:
    assert main(["facts", "--only", "instanzes"]) == 1
    shown = capsys.readouterr().err
    assert "LF1240" in shown
    assert "write `instances`" in shown
    with pytest.raises(FleetError, match="shows all names"):
        facts_named(["qqqqqqqqqq"])


@pytest.mark.parametrize(("width", "sources"), [(80, False), (119, False), (120, True), (None, True)])
def test_a_narrow_screen_has_no_column_of_sources(width: int | None, sources: bool) -> None:
    screen = Screen(width=width, color=False, live=False)
    text = as_text(facts_named(None), date(2027, 1, 1), screen, whole_source=False)
    heading, *rows = text.splitlines()
    assert ("SOURCE" in heading) is sources
    assert "NAME" in heading
    assert width is None or all(len(row) <= width for row in rows)


def test_facts_older_than_half_a_year_are_old() -> None:
    today = date(2027, 6, 1)
    exact, older = (file(name, today - timedelta(days=days)) for name, days in (("a", OLD_DAYS), ("b", OLD_DAYS + 1)))
    oldest = file("c", today - timedelta(days=400))
    assert old_files([exact, older, oldest, file("d", None)], today) == [oldest, older]
    assert list(note_of_old([], today)) == []
    (note,) = note_of_old([oldest, older], today)
    assert note.startswith("2 files of facts that this fleet depends on are older than half a year")
    assert "`c` (400 days)" in note


def validate(today: date, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `validate` in its own process, which has read no facts before."""
    code = (
        "import sys; from datetime import date; from llm_fleet.cli.main import main; "
        "sys.exit(main(sys.argv[2:], today=date.fromisoformat(sys.argv[1])))"
    )
    command = [sys.executable, "-c", code, today.isoformat(), "validate", str(EXAMPLE), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)


def test_validate_ends_with_a_note_about_the_old_facts_that_the_fleet_depends_on() -> None:
    fresh = validate(ON_THE_LIMIT)
    assert fresh.stderr == ""
    aged = validate(ON_THE_LIMIT + timedelta(days=1))
    assert aged.stdout == fresh.stdout
    (line,) = aged.stderr.splitlines()
    assert line.startswith("note: ")
    assert f"({OLD_DAYS + 1} days)" in line


def test_validate_names_only_facts_that_the_fleet_depends_on() -> None:
    assert json.loads(validate(ON_THE_LIMIT, "--json").stdout)["old_facts"] == []
    old = json.loads(validate(date(2030, 1, 1), "--json").stdout)["old_facts"]
    assert {"instances", "lustre", "regions", "addresses"} <= set(old)
    assert not {"prices", "model_shapes", "studio", "node_steps", "assumptions/hyperpod"} & set(old)
