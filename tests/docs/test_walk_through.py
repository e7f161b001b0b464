"""Every command of the tutorial is run here, or its mark says which test runs it or why no test can."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from llm_fleet.cli.main import main
from llm_fleet.cli.nodes import slurm_view
from llm_fleet.cli.session import Target
from llm_fleet.fleet_file.load import load_fleet
from tests.cli.jobs.conftest import FakeCluster
from tools.synth_environment import ROOT

PAGE = ROOT / "docs" / "training" / "from-nothing-to-a-served-model.md"
COMMAND = re.compile(r"^[$#] (?P<words>.*?)(?: +# (?P<mark>(?:not run|run by).*))?$")
REASONS = ("needs an AWS account", "the tests run it with another fleet file")


def commands(part: str = "") -> list[tuple[str, str]]:
    """Return the commands of the section whose heading begins with `part`, each with its mark."""
    text = PAGE.read_text(encoding="utf-8")
    parts = re.split(r"^## ", text, flags=re.MULTILINE)
    chosen = [one for one in parts if one.startswith(part)] if part else parts
    blocks = [block for one in chosen for block in re.findall(r"^```console\n(.*?)^```", one, re.S | re.M)]
    found = [COMMAND.match(line) for block in blocks for line in block.splitlines()]
    return [(match["words"].strip(), match["mark"] or "") for match in found if match]


def test_every_command_is_found():
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(("$ ", "# llm-fleet"))]
    assert len(lines) == len(commands()) > 15


def test_a_mark_names_a_reason_or_a_test():
    for words, mark in commands():
        if mark.startswith("not run"):
            assert any(reason in mark for reason in REASONS), words
        elif mark:
            assert (ROOT / "local/llm_fleet_local/drill/scenarios/test_training.py").is_file()
            assert "the drill" in mark or (ROOT / mark.split()[-1]).is_dir(), mark


@pytest.mark.parametrize("part", ["HyperPod", "ParallelCluster"])
def test_all_others_do_what_the_page_says(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    cluster = FakeCluster.make(tmp_path)
    for name, value in cluster.environment().items():
        monkeypatch.setenv(name, value)

    def find(*_: object) -> Target:
        return Target(name="controller", ssm="sagemaker-cluster:0123456789ab_controller-i-01", region="us-west-2")

    monkeypatch.setattr(slurm_view, "find_target", find)
    monkeypatch.chdir(tmp_path)
    for words, mark in commands(part):
        if not mark:
            run(words, tmp_path, cluster)
    stages = [job["options"][1].partition("=")[2].rsplit("-", 1)[1] for job in cluster.jobs()]
    assert stages == ["download", "tokenize", "compile", "train", "convert", "export"], "each needs the one before"


def test_stacks_that_are_deployed_by_name_exist():
    named = [name for words, _ in commands() for name in re.findall(r"cdk deploy ([a-z][\w-]+) ", words)]
    assert named == ["llama2-train", "tanuki-trn1"]
    for name, example in zip(named, ("training-llama2-7b", "training-parallelcluster"), strict=True):
        fleet = load_fleet(ROOT / f"examples/{example}.yaml")
        assert name in [f"{fleet.name}-{cluster}" for cluster in fleet.clusters]


def run(words: str, folder: Path, cluster: FakeCluster) -> None:
    program, *rest = words.split()
    if program == "cp":
        shutil.copy(ROOT / rest[0], folder / rest[1])
    elif program == "llm-fleet":
        if rest[:2] == ["jobs", "logs"]:
            write_logs(cluster)
        assert main(rest) == 0, words
    elif rest[:2] == ["cdk", "synth"]:
        command = [ROOT / "node_modules/.bin/cdk", *rest[1:-1], f"fleet={folder / 'fleet.yaml'}"]
        done = subprocess.run([*command, "--output", folder / "cdk.out"], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert list((folder / "cdk.out").glob("*.template.json"))
    else:
        pytest.fail(f"no test runs `{words}`, and it has no mark")


def write_logs(cluster: FakeCluster) -> None:
    """Write a log of each job, and set its state to COMPLETED."""
    jobs = cluster.jobs()
    for job in jobs:
        (pattern,) = [word.partition("=")[2] for word in job["options"] if word.startswith("--output=")]
        (name,) = [word.partition("=")[2] for word in job["options"] if word.startswith("--job-name=")]
        Path(pattern.replace("%x", name).replace("%j", str(job["id"]))).write_text("llm-fleet: step 1/4: loss 9.2\n")
        job["state"] = "COMPLETED"
    (cluster.folder / "jobs.json").write_text(json.dumps(jobs))
