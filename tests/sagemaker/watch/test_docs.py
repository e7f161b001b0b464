"""The page about the watch tells of every parameter, and its figures are those of the code."""

import inspect
import json
import re
from typing import get_args

from llm_fleet import TrainingWatch
from llm_fleet.catalog.training_watch import training_watch_facts
from llm_fleet.spec.watch import WatchCondition, WatchSpec
from tests.sagemaker.watch.conftest import Watched
from tools.synth_environment import ROOT

CONDITIONS = get_args(WatchCondition)
PAGE = (ROOT / "docs" / "constructs" / "training-watch.md").read_text(encoding="utf-8")
FAILURES = ROOT / "constructs" / "llm_fleet" / "functions" / "training_watch" / "failures.json"


def table(heading: str) -> dict[str, list[str]]:
    """Rows of the table below `heading` by their first cell."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return {cells[0]: cells[1:] for cells in rows[2:]}


def test_every_parameter_has_its_default_and_its_why() -> None:
    told = {name.strip("`"): cells for name, cells in table("Parameters").items()}
    assert set(told) == (set(inspect.signature(TrainingWatch.__init__).parameters) | set(WatchSpec.model_fields)) - {
        "self",
        "scope",
        "id",
        "watch",
    }
    assert all(len(cells) == 2 and all(cells) for cells in told.values())


def test_defaults_are_those_of_the_code() -> None:
    facts, told = training_watch_facts(), table("Parameters")
    first = facts.restart.back_off_seconds
    waits = [first * 2**n for n in range(facts.restart.maximum)]
    assert told["`restart`"][0].startswith(
        f"{facts.restart.maximum} restarts, after {waits[0]}, {waits[1]} and {waits[2]} s"
    )
    assert f"more than {facts.restart.longest_back_off_seconds} s" in told["`restart`"][0]
    assert told["`grace_minutes`"][0] == str(facts.grace_minutes)
    conditions = {name.split("(")[0].strip("`"): cells[-1] for name, cells in table("Conditions").items()}
    assert set(conditions) == {condition.__name__ for condition in CONDITIONS}
    spike, drop = facts.loss_spike, facts.throughput_drop
    assert conditions["LossSpike"] == f"{spike.factor:g}; {spike.minutes} of {spike.window_minutes} minutes"
    assert conditions["ThroughputDrop"] == f"{drop.below_fraction:g}; {drop.minutes} of {drop.window_minutes} minutes"
    assert conditions["Stall"] == f"{facts.stall.minutes} minutes"


def test_each_condition_is_told_with_its_fields() -> None:
    told = {name.split("(")[0].strip("`"): re.findall(r"\w+", name)[1:] for name in table("Conditions")}
    assert told == {condition.__name__: list(condition.model_fields) for condition in CONDITIONS}


def test_figures_of_events() -> None:
    facts = training_watch_facts()
    assert f"Every {facts.sweep_minutes} minutes a sweep" in PAGE
    assert facts.queue.timeout_seconds * facts.queue.visibility_per_timeout == 3600, "the page says: after an hour"
    assert facts.queue.receives == 5, "the page says: five times"
    assert f"waited for {facts.old_message_minutes} minutes" in PAGE
    assert f"kept for {facts.queue.retention_days} days" in PAGE
    assert f"IAM attaches {facts.limits.role_policies} policies" in PAGE


def test_each_alarm_is_told_with_what_to_do(watched: Watched) -> None:
    alarms = [re.split(r"WatchAlarms", name)[1] for name in watched.of_type("AWS::CloudWatch::Alarm")]
    told = [name.strip("`") for name in table("What a person does")]
    assert sorted(name[: len(name) - 8] for name in alarms) == sorted(told)


def test_what_restarts_is_what_the_function_restarts() -> None:
    """Each word by which the function knows a failure stands in a row with the decision that follows from it."""
    decisions = table("What restarts and what does not")
    rows = json.loads(FAILURES.read_text(encoding="utf-8"))["rows"]
    words = {
        "InternalServerError": "service",
        "CapacityError": "capacity",
        "AlgorithmError": "user",
        "ClientError": "user",
    }
    for word, cause in words.items():
        assert [row["cause"] for row in rows if word in row["pattern"]][:1] == [cause], word
        ((decision,),) = [cells for what, cells in decisions.items() if word in what]
        assert decision.startswith("started again" if cause in ("service", "capacity") else "left"), word
