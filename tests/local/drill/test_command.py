"""`llm-fleet local drill` without nodes: what it refuses, before it starts anything."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from llm_fleet.cli.main import main
from llm_fleet_local.command.project import LocalError
from llm_fleet_local.drill import run
from llm_fleet_local.drill.aws_emulator import with_dependencies
from llm_fleet_local.drill.fleet import EXAMPLE, read_fleet
from llm_fleet_local.drill.image import prerequisites
from llm_fleet_local.drill.stand_ins import interpreter
from llm_fleet_local.drill.talk import ask, listen
from llm_fleet_local.drill.work_folder import download_folder, image_folder, prepare_folders, work_folder
from tools.synth_environment import ROOT

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory: empty, with a cache of its own. This process seems to be root, and starts nothing."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("LLM_FLEET_LOCAL_FOLDER", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(prerequisites.os, "geteuid", lambda: 0)
    monkeypatch.setattr(prerequisites, "APART", ("env",))
    monkeypatch.setattr(run, "show_cluster", _not_refused)
    monkeypatch.setattr("sys.executable", "/bin/false")  # of the process that keeps a cluster
    return folder


def _not_refused(*_: object, **__: object) -> int:
    return 0


def refused(capsys: Capture, *words: str, code: str = "LF1015") -> str:
    assert main(["local", "drill", *words]) == 1
    reported = capsys.readouterr().err
    assert f"[{code}]" in reported
    return reported


def changed(project: Path, change: Callable[[dict[str, Any]], object], example: str = "hyperpod-drill") -> str:
    """Write a changed example to the project, without its jobs; return the file."""
    fleet: dict[str, Any] = yaml.safe_load((ROOT / "examples" / f"{example}.yaml").read_text())
    fleet.pop("jobs", None)
    for cluster in fleet["clusters"].values():
        if "downloads" in cluster:
            cluster["downloads"]["lock"] = str(ROOT / "examples" / cluster["downloads"]["lock"])
    change(fleet)
    (project / "fleet.yaml").write_text(yaml.safe_dump(fleet))
    return str(project / "fleet.yaml")


def of_workers(values: dict[str, Any]) -> Callable[[dict[str, Any]], object]:
    return lambda fleet: fleet["clusters"]["train"]["groups"]["workers"].update(values)


def of_cluster(values: dict[str, Any]) -> Callable[[dict[str, Any]], object]:
    return lambda fleet: fleet["clusters"]["train"].update(values)


def without_clusters(fleet: dict[str, Any]) -> None:
    del fleet["clusters"]


PURE = {"kind": "wheels", "python": "3.12", "groups": ["workers"], "packages": ["packaging"]}
DATABASE = {
    "endpoint": "slurm.cluster-abc.us-west-2.rds.amazonaws.com",
    "secret": "arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf",
    "security_group": "sg-0123456789abcdef0",
}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (of_workers({"type": "ml.g5.2xlarge"}), "there is no stand-in for the GPUs of ml.g5.2xlarge"),
        (of_cluster({"neuron": {"release": "2.28.1"}}), "do not have the Neuron packages of the AMI (`neuron`)"),
        (
            of_cluster({"training": {"environments": {"cpu": PURE}}}),
            "`cpu` requires Python 3.12, and nodes train with Python 3.11",
        ),
        (of_cluster({"accounting": DATABASE, "provisioning": "Continuous"}), "there is no database server"),
        (without_clusters, "has no cluster, which the drill would start"),
    ],
)
def test_what_the_drill_cannot_do_with_a_fleet_is_reported_before_it_starts(
    change: Callable[[dict[str, Any]], object], expected: str, project: Path, capsys: Capture
) -> None:
    changed(project, lambda fleet: None)
    assert read_fleet(project / "fleet.yaml").key == "train"
    changed(project, change)
    for words in ([], ["up"]):
        reported = refused(capsys, *words)
        assert expected in reported
        assert "add --example" in reported
    assert [path.name for path in project.iterdir()] == ["fleet.yaml"]


@pytest.mark.parametrize("example", ["hyperpod-existing-network", "hyperpod-p5en", "parallelcluster-full"])
def test_examples_with_parts_that_this_machine_does_not_have_are_refused(example: str) -> None:
    with pytest.raises(LocalError, match="the drill cannot start the cluster"):
        read_fleet(ROOT / "examples" / f"{example}.yaml")


def test_a_run_needs_a_worker_more_than_it_trains_on(project: Path) -> None:
    assert read_fleet(EXAMPLE, workers=3).run is not None
    with pytest.raises(LocalError, match=r"`tiny` needs 3 workers: 2 that train.*; there are 2; write --workers 3"):
        _ = read_fleet(EXAMPLE, workers=2).run


def test_only_hyperpod_has_another_number_of_workers_and_a_cluster_that_stays(capsys: Capture) -> None:
    file = str(ROOT / "examples" / "parallelcluster-drill.yaml")
    assert "omit --workers" in refused(capsys, "-f", file, "--workers", "2")
    assert "is of ParallelCluster, which cannot be kept" in refused(capsys, "up", "-f", file)
    assert not read_fleet(Path(file)).is_hyperpod


def test_missing_privileges_are_reported(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prerequisites, "APART", ("sh", "-c", "echo Operation not permitted >&2; exit 1"))
    assert "cannot create namespaces: Operation not permitted" in refused(capsys, "--example")
    monkeypatch.setattr(prerequisites.os, "geteuid", lambda: 1000)
    assert 'sudo "$(command -v llm-fleet)" local drill' in refused(capsys, "--example")
    monkeypatch.setattr(prerequisites.platform, "system", lambda: "Darwin")
    assert "requires Linux, and this is Darwin" in refused(capsys, "--example", "--backend", "docker")


def test_a_missing_python_is_reported_before_anything_is_built(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreter, "_ask", lambda _: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    for words in (["--example"], ["up", "--example"]):
        assert "nodes train with Python 3.11, which this machine does not have" in refused(capsys, *words)


def test_folders_that_cannot_be_used_are_reported(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "cache"))
    reported = refused(capsys, "--example")
    assert f"{tmp_path}/file/cache/llm-fleet/drill/images cannot be written: " in reported
    assert "set XDG_CACHE_HOME" in reported
    monkeypatch.setenv("LLM_FLEET_LOCAL_FOLDER", str(tmp_path / "a:b"))
    reported = refused(capsys, "up", "--example")
    assert "has ':' in its name, with which it cannot be mounted on nodes" in reported
    assert "set LLM_FLEET_LOCAL_FOLDER" in reported


@pytest.mark.parametrize("verb", [["check"], ["kill", "workers-1"], ["shell", "workers-1"], ["report"], ["down"]])
def test_requests_without_a_cluster_are_refused_and_create_nothing(
    verb: list[str], project: Path, capsys: Capture
) -> None:
    assert "start one with `llm-fleet local drill up`" in refused(capsys, *verb)
    assert main(["local", "drill", "sweep"]) == 0
    assert not list(project.iterdir())


def test_a_missing_file_is_reported_and_the_option_before_the_verb_counts(capsys: Capture) -> None:
    assert "name the fleet file with -f FILE" in refused(capsys, code="LF101")
    for words in (["-f", "typo/fleet.yaml", "check"], ["check", "-f", "typo/fleet.yaml"], ["-f", "typo.yaml"]):
        assert "this file does not exist" in refused(capsys, *words, code="LF101")


def test_state_is_in_the_project_and_what_projects_share_is_in_the_cache(tmp_path: Path, project: Path) -> None:
    work = prepare_folders(project)
    assert work == work_folder(project) == project / ".llm-fleet" / "drill"
    assert (project / ".llm-fleet" / ".gitignore").read_text() == "*\n"
    cache = tmp_path / "cache" / "llm-fleet" / "drill"
    assert (image_folder(), download_folder()) == (cache / "images", cache / "downloads")


def test_errors_cross_the_socket_also_in_a_folder_with_a_long_name(tmp_path: Path) -> None:
    place = tmp_path / ("ü " * 60).strip() / "keeper.sock"
    place.parent.mkdir()
    assert len(str(place).encode()) > 200
    with pytest.raises(LocalError, match="no cluster of the drill is up"):
        ask(place, ["check"], print)

    def answer(words: Any, say: Callable[[str], None]) -> int:
        say("one line")
        if words == ["kill", "x"]:
            raise LocalError("unknown node x", "choose one of y")
        return 3

    server = listen(place, answer)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    said: list[str] = []
    try:
        assert ask(place, ["check"], said.append) == 3
        with pytest.raises(LocalError, match="unknown node x; choose one of y"):
            ask(place, ["kill", "x"], said.append)
    finally:
        server.shutdown()
        server.server_close()
    assert said == ["one line", "one line"]


def test_only_the_clusters_stack_is_deployed_with_those_that_it_depends_on(tmp_path: Path) -> None:
    depends = {"f-train": ["f-storage", "f-train.assets"], "f-storage": ["f-network"], "f-chat": ["f-storage"]}
    names = ("f-network", "f-storage", "f-train", "f-train.assets", "f-chat")
    artifacts = {name: {"dependencies": depends[name]} if name in depends else {} for name in names}
    (tmp_path / "manifest.json").write_text(json.dumps({"artifacts": artifacts}))
    assert with_dependencies(tmp_path, "f-train") == {"f-network", "f-storage", "f-train", "f-train.assets"}
