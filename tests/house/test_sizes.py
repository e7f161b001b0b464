"""Files stay small enough to read: the house's limits, checked."""

import subprocess

from tools.synth_environment import ROOT

SOURCES = ("constructs", "stacks", "lifecycle_scripts", "local", "tools", "tests", "app.py", "examples")


def python_files(*places: str) -> dict[str, int]:
    """Lines of each tracked Python file under `places`."""
    listed = subprocess.run(
        ["git", "ls-files", "--", *places], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    return {name: len((ROOT / name).read_text().splitlines()) for name in listed if name.endswith(".py")}


def test_no_file_is_over_500_lines():
    assert [name for name, lines in python_files(*SOURCES).items() if lines > 500] == []
