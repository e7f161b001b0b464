"""`monitoring:` in a fleet file: errors with their paths and remedies, and events of clusters."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.load import load_fleet
from llm_fleet.rules.problem import FleetError
from llm_fleet_stacks.monitoring_stacks import monitored_cluster
from llm_fleet_stacks.sagemaker_stacks import watch_of
from tools.synth_environment import ROOT

FULL = ROOT / "examples" / "hyperpod-full.yaml"
MONITORED = yaml.safe_load((ROOT / "examples" / "hyperpod-monitored.yaml").read_text(encoding="utf-8"))


def load(tmp_path: Path, monitoring: Any, **changes: Any) -> Fleet:
    path = tmp_path / "fleet.yaml"
    path.write_text(yaml.safe_dump({**MONITORED, "monitoring": monitoring, **changes}), encoding="utf-8")
    return load_fleet(path)


UUID = "01234567-89ab-cdef-0123-456789abcdef"
TEAMS = "19%3a0123abcd%40thread.tacv2"


def slack(workspace: str, channel: str) -> Any:
    return {"alarms": {"slack": {"workspace": workspace, "channel": channel}}}


def teams(team: str, channel: str) -> Any:
    return {"alarms": {"teams": {"team": team, "tenant": UUID, "channel": channel}}}


def budget(**more: Any) -> Any:
    return {"budget": {"monthly": "1 USD", **more}}


WRONG: list[tuple[Any, str, str, str]] = [
    ({"alarms": {"emails": ["me"]}}, "LF1182", "monitoring.alarms.emails[0]", "write only the address"),
    ({"alarms": {"topic": "pager"}}, "LF116", "monitoring.alarms.topic", "arn:aws:sns"),
    (slack("acme", "C1"), "LF1183", "monitoring.alarms.slack.workspace", ""),
    ({"alarms": {"teams": {"team": "a"}}}, "LF111", "monitoring.alarms.teams", "add it"),
    (slack("T1", "#alarms"), "LF1183", "monitoring.alarms.slack.channel", "not its name"),
    (teams("x", TEAMS), "LF1183", "monitoring.alarms.teams.team", "groupId"),
    (teams(UUID, "19:ab@thread"), "LF1183", "monitoring.alarms.teams.channel", "%3a"),
    ({"alarms": {"thresholds": {"idle": "25 h"}}}, "LF1180", "monitoring.alarms.thresholds.idle", "60 minutes"),
    ({"alarms": {"thresholds": {"disk_percent": 100}}}, "LF1180", "monitoring.alarms.thresholds.disk_percent", "85"),
    ({"alarms": {"thresholds": {"idle": "2 min"}}}, "LF1180", "monitoring.alarms.thresholds.idle", "60 minutes"),
    ({"alarms": {"thresholds": {"idle": 60}}}, "LF115", "monitoring.alarms.thresholds.idle", "min"),
    ({"alarms": {"thresholds": {"disk_percent": 0}}}, "LF1180", "monitoring.alarms.thresholds.disk_percent", "85"),
    ({"alarms": {"email": "a@b.de"}}, "LF110", "monitoring.alarms.email", "`emails`"),
    ({"logs": "100 days"}, "LF1184", "monitoring.logs", "write 90 days"),
    ({"clusters": ["trainn"]}, "LF1181", "monitoring.clusters[0]", "write `train`"),
    ({"clusters": ["train", "train"]}, "LF1181", "monitoring.clusters[1]", "once"),
    ({"budget": {"monthly": 100}}, "LF115", "monitoring.budget.monthly", "USD"),
    ({"budget": {"monthly": "100 EUR"}}, "LF115", "monitoring.budget.monthly", "USD"),
    ({"budget": {"monthly": "0 USD"}}, "LF1185", "monitoring.budget.monthly", "above 0"),
    (budget(at_percent=[80, 80]), "LF1186", "monitoring.budget.at_percent", "once"),
    (budget(at_percent=[]), "LF1186", "monitoring.budget.at_percent", "1 to 4"),
    (budget(at_percent=[1, 2, 3, 4, 5]), "LF1186", "monitoring.budget.at_percent", "1 to 4"),
    (budget(at_percent=[0]), "LF1186", "monitoring.budget.at_percent[0]", "above 0"),
    (
        budget(emails=[f"a{n}@b.de" for n in range(11)]),
        "LF1182",
        "monitoring.budget.emails",
        "topic is always notified",
    ),
    (budget(deny={"roles": [f"r{n}" for n in range(101)]}), "LF1188", "monitoring.budget.deny.roles", "start the most"),
    (budget(tag="team"), "LF1187", "monitoring.budget.tag", "add `team: …`"),
    (budget(deny={"roles": ["a:b"]}), "LF1188", "monitoring.budget.deny.roles[0]", "name"),
    (budget(deny={}), "LF1188", "monitoring.budget.deny.roles", "remove `deny`"),
    ({"thresholds": {}}, "LF110", "monitoring.thresholds", "below `alarms`"),
    ("on", "LF113", "monitoring", ""),
]


@pytest.mark.parametrize(("monitoring", "code", "where", "words"), WRONG)
def test_an_error_is_reported_at_its_key(tmp_path: Path, monitoring: Any, code: str, where: str, words: str) -> None:
    with pytest.raises(FleetError) as raised:
        load(tmp_path, monitoring)
    reported = [(problem.code.value, problem.where) for problem in raised.value.problems]
    assert (code, where) in [(given, at[: len(where)]) for given, at in reported], reported
    assert words in f"{raised.value.problems[0].remedy} {raised.value.problems[0].allowed}"


def test_a_fleet_with_nothing_to_monitor_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FleetError) as raised:
        load(tmp_path, {}, clusters={}, storage={})
    assert [problem.code.value for problem in raised.value.problems] == ["LF1190"]


def test_a_cluster_cannot_have_the_name_of_the_monitoring_stack(tmp_path: Path) -> None:
    with pytest.raises(FleetError) as raised:
        load(tmp_path, {}, clusters={"monitoring": MONITORED["clusters"]["train"]})
    assert "LF124" in [problem.code.value for problem in raised.value.problems]


def test_short_forms_and_every_threshold_reach_the_construct(tmp_path: Path) -> None:
    arn = "arn:aws:sns:us-west-2:111122223333:pager"
    fleet = load(tmp_path, {"alarms": arn, "metrics": "none"})
    assert fleet.monitoring is not None
    assert fleet.monitoring.alarms.topic == arn
    full = load_fleet(FULL).monitoring
    assert full is not None
    assert full.alarms.thresholds.model_dump() == {
        "node_failed_minutes": 20,
        "stuck_pending_minutes": 45,
        "idle_percent": 10,
        "idle_minutes": 45,
        "unused_minutes": 180,
        "disk_percent": 80,
        "file_system_percent": 85,
        "queue_wait_minutes": 360,
        "nodes_down_minutes": 20,
        "silent_minutes": 60,
    }


def test_clusters_are_monitored_unless_excluded_and_only_for_what_they_have(tmp_path: Path) -> None:
    fleet = load(tmp_path, {"metrics": "cloudwatch", "budget": {"monthly": "1 USD"}})
    assert fleet.monitoring is not None
    assert fleet.monitoring.watched_of(fleet.clusters) == ["train"]
    cluster = monitored_cluster("train", "train", fleet)
    assert (cluster.node_metrics, cluster.accelerators) == (True, True)
    silent = load(tmp_path, {"clusters": [], "budget": {"monthly": "1 USD"}})
    assert silent.monitoring is not None
    assert silent.monitoring.watched_of(silent.clusters) == []
    assert not monitored_cluster("train", "train", silent).node_metrics
    plain = {"kind": "hyperpod", "groups": {
        "controller": {"role": "controller", "type": "ml.m5.xlarge", "count": 1},
        "cpu": {"role": "compute", "type": "ml.c5.4xlarge", "count": 1, "partition": "cpu"},
    }}  # fmt: skip
    assert not monitored_cluster(
        "train", "train", load(tmp_path, {"metrics": "cloudwatch"}, clusters={"train": plain})
    ).accelerators


@pytest.mark.parametrize(
    ("monitoring", "watch", "watched"),
    [
        ({}, None, ("train",)),
        ({"alarms": {"events": False}}, None, None),
        ({"clusters": [], "budget": {"monthly": "1 USD"}}, None, None),
        # A watch of the file reports them; no second watch is created.
        ({}, {"clusters": ["train"], "restart": 1}, ("train",)),
    ],
)
def test_events_of_clusters_are_reported_once(tmp_path: Path, monitoring: Any, watch: Any, watched: Any) -> None:
    fleet = load(tmp_path, monitoring, **({"watch": watch} if watch else {}))
    made = watch_of(fleet)
    assert (made.clusters if made else None) == watched
    assert watch is None or made is fleet.watch
