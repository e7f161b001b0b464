"""A wrong value of an option is wrong usage: the exit code is 2, and nothing is printed before."""

from pathlib import Path

import pytest

from llm_fleet.cli.main import main

_FLEET = str(Path(__file__).parents[2] / "examples" / "hyperpod-full.yaml")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("logs", "ml", "--since", "99x"), "neither a span nor a time"),
        (("events", "ml", "--since", "99x"), "write a span as in 30m"),
        (("upgrade", "ml", "--image", "latest"), "or --latest"),
        (("connect", "--port-forward", "80"), "as in 8888:8888"),
        (("plan", _FLEET, "--no-synth", "--deployed"), "--no-synth"),
        (("plan", _FLEET, "--no-synth", "--deployed", "--json"), "--no-synth"),
    ],
)
def test_the_exit_code_is_that_of_wrong_usage(
    words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(words)
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("usage: ")
    assert told in " ".join(err.split())
