"""Arguments that the entry points accept and reject."""

import pytest

from llm_fleet_node.arguments import DRY_RUN, LIST, RUN, Arguments, parse
from llm_fleet_node.failures import Failure


@pytest.mark.parametrize(
    ("given", "understood"),
    [
        ("OnCreate", Arguments("OnCreate", RUN)),
        ("OnInitComplete --json", Arguments("OnInitComplete", json=True)),
        ("OnNodeConfigured --group trn", Arguments("OnNodeConfigured", group="trn")),
        ("OnCreate --list", Arguments("OnCreate", LIST)),
        ("OnCreate --list --role Compute --group trn", Arguments("OnCreate", LIST, group="trn", role="Compute")),
        ("OnCreate --only munge slurmd --json", Arguments("OnCreate", only=("munge", "slurmd"), json=True)),
        ("OnCreate --only munge --dry-run --only slurmd", Arguments("OnCreate", DRY_RUN, ("munge", "slurmd"))),
    ],
)
def test_understood(given: str, understood: Arguments) -> None:
    assert parse(given.split()) == understood


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("", "the first must be one of OnInitComplete, OnCreate, OnNodeConfigured"),
        ("OnStart", "the first must be one of"),
        ("--list OnCreate", "the first must be one of"),
        ("OnCreate munge", "unknown option munge"),
        ("OnCreate --all", "unknown option --all"),
        ("OnCreate --only", "--only requires the names of steps"),
        ("OnCreate --only --json", "--only requires the names of steps"),
        ("OnCreate --group", "--group requires a name"),
        ("OnCreate --list --dry-run", "use only one of --list and --dry-run"),
        ("OnCreate --list --only munge", "use only one of --list and --only"),
        ("OnCreate --role Compute", "--role is allowed only with --list"),
        ("OnCreate --list --role Boss", "--role must be one of Compute, Controller, Login"),
    ],
)
def test_refused(given: str, why: str) -> None:
    with pytest.raises(Failure) as caught:
        parse(given.split())
    assert caught.value.code.code == "LFN08"
    assert why in caught.value.cause
