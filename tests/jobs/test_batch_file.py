"""Values are written into a batch file as text: bash reads every value unchanged and runs no part of it."""

import subprocess
from pathlib import Path

import pytest

from llm_fleet.jobs.batch_file import ORDER, RUN, BatchFile, template
from llm_fleet.jobs.render_run import render_batch_file
from llm_fleet.jobs.settings import Setting
from llm_fleet.rules.problem import FleetError

HOSTILE = (
    "two words",
    "it's",
    'say "hi"',
    "$(touch ran)",
    "`touch ran`",
    "${HOME}",
    "; touch ran",
    "x # y",
    "a\\",
    "'; touch ran; '",
    "*",
    "~",
    "!!",
    "",
    "-n",
    "ümläut",
    "{a,b}",
    ">ran",
)
SHELLCHECK = Path(__file__).parents[2] / ".venv/bin/shellcheck"


def codes(error: FleetError) -> list[str]:
    return [problem.code.value for problem in error.problems]


def test_bash_reads_hostile_values_as_they_are_and_runs_nothing(tmp_path: Path) -> None:
    names = [one.name for one in BatchFile.parse(template(RUN)).settings][: len(HOSTILE)]
    values = dict(zip(names, HOSTILE, strict=False)) | {"REVISION": HOSTILE[-1]}
    (tmp_path / "run.sh").write_text(render_batch_file(template(RUN), settings=values))
    show = "".join(f'printf "%s\\0" "${{{name}}}"; ' for name in values)
    done = subprocess.run(
        ["bash", "-c", f". ./run.sh; {show}"], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={"LLM_FLEET_TRAINING": "/fsx/llm-fleet", "HOME": "/home/ada", "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert done.stdout.split("\0")[:-1] == list(values.values())
    assert [file.name for file in tmp_path.iterdir()] == ["run.sh"]


@pytest.mark.parametrize("value", HOSTILE)
def test_a_value_is_read_back_as_it_was_written(value: str) -> None:
    file = BatchFile.parse(render_batch_file(template(RUN), settings={"MODEL": value}))
    assert next(one.value for one in file.settings if one.name == "MODEL") == value


def test_shellcheck_finds_nothing_in_a_rendered_file(tmp_path: Path) -> None:
    for name in (RUN, *ORDER):
        text = template(name)
        settings = BatchFile.parse(text).settings
        values = {one.name: HOSTILE[number % len(HOSTILE)] for number, one in enumerate(settings)}
        rendered = render_batch_file(text, settings=values, directives={"partition": "trn1", "nodes": 2})
        (tmp_path / f"{name}.sh").write_text(rendered)
    files = sorted(tmp_path.glob("*.sh"))
    done = subprocess.run([SHELLCHECK, "-S", "warning", *files], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_rendering_without_values_changes_nothing() -> None:
    assert [name for name in (RUN, *ORDER) if render_batch_file(template(name)) != template(name)] == []
    own = {one.name: one.value for one in BatchFile.parse(template("train")).settings if one.value is not None}
    again = BatchFile.parse(render_batch_file(template("train"), settings=own))
    assert {one.name: one.value for one in again.settings} == own


def test_options_of_sbatch_are_replaced_or_added_before_the_first_command() -> None:
    text = render_batch_file(template("train"), directives={"nodes": 8, "partition": "trn1", "hold": None})
    options = {one.name: one.value for one in BatchFile.parse(text).directives}
    assert (options["nodes"], options["partition"], options["hold"]) == ("8", "trn1", None)
    assert text.count("--nodes") == 1
    assert BatchFile.parse(text).late_directives == ()


def test_all_errors_are_reported_together() -> None:
    with pytest.raises(FleetError) as caught:
        render_batch_file(
            template("train"),
            settings={"STEP": 3, "STEPS": "3\ntouch ran"},
            directives={"auto-resume": 1, "partition": "a b"},
        )
    assert codes(caught.value) == ["LF882", "LF882", "LF883", "LF883"]
    assert "write `STEPS`" in str(caught.value)
    assert "it is an option of srun, not of sbatch" in str(caught.value)


def test_a_file_without_the_block_of_settings_is_rejected() -> None:
    with pytest.raises(FleetError) as caught:
        render_batch_file(template("train").replace("# End of settings", "# The end"), settings={"STEPS": 3})
    assert codes(caught.value) == ["LF881"]


@pytest.mark.parametrize(
    ("line", "value", "comment"),
    [
        ("STEPS=3 # so many", "3", "so many"),
        ("STEPS=3#4", "3#4", ""),
        ("MODEL='a # b'", "a # b", ""),
        ('MODEL="a b"  #   what', "a b", "what"),
        ("MODEL=a\\ b", "a b", ""),
        ('FOLDER="${HOME}/x"', None, ""),
        ("FOLDER=$HOME", None, ""),
        ("FOLDER='$HOME'", "$HOME", ""),
        ("MIRROR= # nowhere", "", "nowhere"),
    ],
)
def test_a_setting_is_read_as_bash_reads_it(line: str, value: str | None, comment: str) -> None:
    setting = Setting.parse(line, 1)
    assert setting is not None
    assert (setting.value, setting.comment) == (value, comment)


@pytest.mark.parametrize(
    "line", ["steps=3", "STEPS = 3", "STEPS=3; rm x", "STEPS=$(date)", "STEPS=3 x", "rm x", "A=`x`"]
)
def test_a_command_is_not_read_as_a_setting(line: str) -> None:
    assert Setting.parse(line, 1) is None
