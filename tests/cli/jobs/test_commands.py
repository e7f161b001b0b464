"""`llm-fleet jobs`, from the command line to the cluster and back."""

import json
import os
from pathlib import Path

import pytest

from llm_fleet.catalog.training_environments import job_stages
from llm_fleet.cli.main import main
from llm_fleet.cli.nodes import slurm_view
from llm_fleet.cli.session import Target
from llm_fleet.jobs.batch_file import BatchFile
from tests.cli.jobs.conftest import FakeCluster

EXAMPLES = Path(__file__).parents[3] / "examples"
TRN1 = str(EXAMPLES / "training-llama2-7b.yaml")
GPU = str(EXAMPLES / "training-gpu.yaml")

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def settings(file: Path) -> dict[str, str | None]:
    return {one.name: one.value for one in BatchFile.parse(file.read_text()).settings}


def test_the_stages_are_listed_without_a_fleet_file(capsys: Capture) -> None:
    assert main(["jobs", "list"]) == 0
    reported = capsys.readouterr().out
    assert all(f"  {name} " in reported and stage.summary in reported for name, stage in job_stages().items())
    assert "runs" not in reported


def test_the_runs_of_a_fleet_file_are_listed(capsys: Capture) -> None:
    assert main(["jobs", "list", "-f", TRN1]) == 0
    assert (
        "  llama2-7b  meta-llama/Llama-2-7b-hf by neuron on 4 nodes of cluster train, partition trn1\n"
        "             4 nodes x 32 processes, tensor parallel 8, data parallel 16\n"
        "             estimated 7.1 GiB of 13.6 GiB that a process can use: weights 1.6 GiB," in capsys.readouterr().out
    )


def test_notes_about_smp_are_listed(capsys: Capture, place: Path) -> None:
    text = Path(GPU).read_text()
    (place / "fleet.yaml").write_text(text.replace("{activation_loading_horizon: 2}", "{tensor_parallel_seed: 1}"))
    assert main(["jobs", "list", "-f", "fleet.yaml"]) == 0
    assert "             note: tensor_parallel_seed is the key" in capsys.readouterr().out.replace("\n    ", "\n ")
    assert main(["jobs", "list", "-f", GPU, "--json"]) == 0
    assert all(run["remarks"] == [] for run in json.loads(capsys.readouterr().out)["runs"].values())


def test_the_list_as_json_has_every_setting(capsys: Capture) -> None:
    assert main(["jobs", "list", "-f", TRN1, "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert reported["stages"]["train"]["settings"]["STEPS"]["default"] == "1000"
    assert reported["run_settings"]["RUN"]["comment"] == "name of the run"
    assert reported["runs"]["llama2-7b"]["nodes"] == 4
    assert reported["runs"]["llama2-7b"]["memory"]["whole"] == 16 * 1024**3
    assert reported["runs"]["llama2-7b"]["stages"][:2] == ["download", "tokenize"]


def test_a_run_is_rendered_with_its_values(capsys: Capture, place: Path) -> None:
    assert main(["jobs", "render", "-f", TRN1, "llama2-7b"]) == 0
    folder = place / "llama2-7b"
    assert settings(folder / "run.sh")["RUN_FOLDER"] == "/fsx/runs/llama2-7b"
    assert settings(folder / "train.sbatch")["CHECKPOINT_EVERY"] == "200"
    text = (folder / "train.sbatch").read_text()
    assert "#SBATCH --partition=trn1\n" in text
    assert "#SBATCH --nodes=4\n" in text
    assert "#SBATCH --nodes=1\n" in (folder / "convert.sbatch").read_text()
    assert not (folder / "test-nccl.sbatch").exists()
    assert main(["jobs", "check", *map(str, sorted(folder.iterdir()))]) == 0
    assert capsys.readouterr().out.endswith(": valid\n")


def test_a_run_with_smp_has_the_librarys_file(place: Path) -> None:
    assert main(["jobs", "render", "-f", GPU, "llama3-8b-smp", "--stage", "train", "-o", "made/here"]) == 0
    names = sorted(file.name for file in (place / "made/here").iterdir())
    assert names == ["run.sh", "smp_config.json", "train.sbatch"]
    assert json.loads((place / "made/here/smp_config.json").read_text())


def test_without_a_fleet_file_default_values_are_used(capsys: Capture, place: Path) -> None:
    arguments = ["--stage", "train", "--set", "STEPS=20", "--set", "RUN=a b", "--sbatch", "partition=p5"]
    assert main(["jobs", "render", *arguments]) == 0
    assert settings(place / "a b/train.sbatch")["STEPS"] == "20"
    assert settings(place / "a b/run.sh")["RUN"] == "a b"
    assert "#SBATCH --partition=p5\n" in (place / "a b/train.sbatch").read_text()
    assert "the values are not checked against each other" in capsys.readouterr().err


def test_settings_that_the_run_does_not_set_can_be_set(place: Path) -> None:
    assert main(["jobs", "render", "-f", TRN1, "llama2-7b", "--set", "COMPILE_STEPS=8"]) == 0
    assert settings(place / "llama2-7b/compile.sbatch")["COMPILE_STEPS"] == "8"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (
            ["-f", TRN1, "llama2-7b", "--set", "TENSOR_PARALLEL=3"],
            "LF882",
            "the run in the fleet file already sets this",
        ),
        (["-f", TRN1, "llama2-7b", "--set", "COMPILE_STEP=3"], "LF882", "write `COMPILE_STEPS`"),
        (["-f", TRN1, "llama2-7b", "--stage", "test-nccl"], "LF884", "run 'llama2-7b' has no such stage"),
        (["-f", TRN1, "llama2-7b", "--stage", "trian"], "LF884", "write `train`"),
        (["-f", TRN1, "llama2-7b", "--sbatch", "nodes=9"], "LF883", "the run sets nodes and partition"),
        (["-f", TRN1, "llama2-70b"], "LF884", "write `llama2-7b`"),
        (["-f", GPU], "LF884", "RUN is required"),
        (["--stage", "train", "--sbatch", "auto-resume=1"], "LF883", "an option of srun"),
        (["--set", "RUN=a\nb"], "LF882", "one line of text"),
    ],
)
def test_errors_are_reported_and_nothing_is_written(
    capsys: Capture, place: Path, arguments: list[str], code: str, words: str
) -> None:
    assert main(["jobs", "render", *arguments]) == 1
    reported = capsys.readouterr().err
    assert f"[{code}]" in reported
    assert words in reported
    assert list(place.iterdir()) == []


def test_a_directory_that_is_not_empty_is_unchanged_without_force(capsys: Capture, place: Path) -> None:
    (place / "llama2-7b").mkdir()
    mine = place / "llama2-7b/run.sh"
    mine.write_text("mine\n")
    (place / "llama2-7b/notes").write_text("mine too\n")
    assert main(["jobs", "render", "-f", TRN1, "llama2-7b"]) == 1
    assert "[LF160]" in capsys.readouterr().err
    assert mine.read_text() == "mine\n"
    assert main(["jobs", "render", "-f", TRN1, "llama2-7b", "--force"]) == 0
    assert settings(mine)["RUN"] == "llama2-7b"
    assert (place / "llama2-7b/notes").read_text() == "mine too\n"
    assert sorted(file.name for file in place.iterdir()) == ["llama2-7b"]


def test_a_directory_that_cannot_be_written_is_reported(capsys: Capture, place: Path) -> None:
    (place / "file").write_text("")
    assert main(["jobs", "render", "--stage", "train", "-o", "file/below"]) == 1
    assert "[LF161]" in capsys.readouterr().err
    assert [file.name for file in place.iterdir()] == ["file"]


def test_a_pipe_is_not_a_batch_file(capsys: Capture, place: Path) -> None:
    os.mkfifo(place / "pipe")
    assert main(["jobs", "check", str(place / "pipe"), "/dev/zero"]) == 1
    assert capsys.readouterr().err.count("not a regular file") == 2


def test_a_run_without_its_fleet_file_is_reported(capsys: Capture, place: Path) -> None:
    assert main(["jobs", "render", "--stage", "train", "-o", "made"]) == 0
    assert main(["jobs", "check", "made/train.sbatch", "--run", "llama2-7b"]) == 1
    assert "no fleet file: fleet.yaml does not exist" in capsys.readouterr().err
    assert place.is_dir()


def test_edited_files_are_checked_together(capsys: Capture, place: Path) -> None:
    assert main(["jobs", "render", "-f", TRN1, "llama2-7b"]) == 0
    train, run = place / "llama2-7b/train.sbatch", place / "llama2-7b/run.sh"
    train.write_text(train.read_text().replace("begin train\n", 'begin "train\n'))
    run.write_text(run.read_text().replace("SEED=", "SED="))
    assert main(["jobs", "check", str(train), str(run), str(place / "gone.sbatch")]) == 1
    reported = capsys.readouterr().err
    assert f"{train}.line " in reported
    assert all(f"[{code}]" in reported for code in ("LF880", "LF882"))
    assert "no such file or directory" in reported


def test_with_a_fleet_file_the_number_of_nodes_is_checked(capsys: Capture, place: Path) -> None:
    assert main(["jobs", "render", "-f", TRN1, "llama2-7b", "--stage", "train"]) == 0
    train = place / "llama2-7b/train.sbatch"
    train.write_text(train.read_text().replace("--nodes=4", "--nodes=400"))
    assert main(["jobs", "check", str(train)]) == 0
    assert main(["jobs", "check", str(train), "-f", TRN1, "--run", "llama2-7b"]) == 1
    assert "more nodes than partition 'trn1' has" in capsys.readouterr().err


FLEET = """\
fleet: post
region: us-west-2
network: {{az: usw2-az4}}
storage:
  fsx: {{size: 4800 GiB, throughput: 250 MB/s/TiB}}
clusters:
  ml-cluster:
    kind: hyperpod
    training:
      environments: {{neuron: {{kind: container, image: "docker://example.org#image:1"}}}}
    users: {users}
    groups:
      controller: {{role: controller, type: ml.m5.xlarge, count: 1}}
      trn1: {{role: compute, type: ml.trn1.32xlarge, count: 4, partition: trn1}}
jobs:
  tanuki:
    model: weblab-GENIAC/Tanuki-8B-dpo-v1.0
    data: /fsx/data
"""
ADA = "{ada: {uid: 2001}}"
BOTH = "{ada: {uid: 2001}, grace: {uid: 2002}}"


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let AWS return the controller."""

    def find(*_: object) -> Target:
        return Target(name="controller i-1", ssm="sagemaker-cluster:0123456789ab_controller-i-01", region="us-west-2")

    monkeypatch.setattr(slurm_view, "find_target", find)


def fleet(cluster: FakeCluster, users: str = "{}") -> str:
    path = cluster.folder / "fleet.yaml"
    path.write_text(FLEET.format(users=users))
    return str(path)


@pytest.mark.usefixtures("found")
def test_a_run_is_submitted_from_download_to_conversion(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]):
    assert main(["jobs", "submit", "-f", fleet(cluster), "--json"]) == 0, capsys.readouterr().err
    reported = json.loads(capsys.readouterr().out)["jobs"]
    stages = ["download", "tokenize", "compile", "train", "convert"]
    assert [one["stage"] for one in reported] == stages
    assert [job["text"].splitlines()[0] for job in cluster.jobs()] == ["#!/usr/bin/env bash"] * len(stages)
    assert "#SBATCH --nodes=4" in cluster.jobs()[3]["text"]
    run = Path(cluster.jobs()[3]["folder"], "run.sh").read_text()
    assert "MODEL=weblab-GENIAC/Tanuki-8B-dpo-v1.0" in run
    assert (cluster.folder / "users").read_text() == "#1000\n"


@pytest.mark.usefixtures("found")
def test_the_command_that_follows_the_log_is_printed(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]):
    path = fleet(cluster)
    assert main(["jobs", "submit", "-f", path, "tanuki", "--stage", "train"]) == 0
    reported = capsys.readouterr().out.splitlines()
    assert reported[-1] == f"to follow the log: llm-fleet jobs logs tanuki --stage train --follow -f {path}"
    log = reported[0].split()[-1]
    (cluster.folder / log.removeprefix("/")).write_text("step 1\nstep 2\n")
    assert main(reported[-1].split("llm-fleet ")[1].replace("--follow", "-n 1").split()) == 0
    assert capsys.readouterr().out == f"{cluster.folder}{log}\nstep 2\n"
    jobs = cluster.jobs()
    jobs[0]["state"] = "COMPLETED"
    (cluster.folder / "jobs.json").write_text(json.dumps(jobs))
    assert main(reported[-1].split("llm-fleet ")[1].split()) == 0
    assert capsys.readouterr().out == "step 1\nstep 2\njob 100 has ended: COMPLETED|0:0\n"


@pytest.mark.usefixtures("found")
def test_a_stage_that_is_named_twice_is_submitted_once(cluster: FakeCluster):
    assert main(["jobs", "submit", "-f", fleet(cluster), "--stage", "train", "--stage", "train"]) == 0
    assert len(cluster.jobs()) == 1


@pytest.mark.usefixtures("found")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--stage", "trian"], "write `train`"),
        (["--job", "1; rm"], "`1; rm` is not a job id"),
        (["-n", "x"], "`x` is not a number of lines"),
        (["-n", "0"], "`0` is not a number of lines"),
    ],
)
def test_options_of_logs_are_checked_before_a_session(
    cluster: FakeCluster, capsys: pytest.CaptureFixture[str], words: list[str], said: str
):
    assert main(["jobs", "logs", "-f", fleet(cluster), *words]) in (1, 2)
    assert said in capsys.readouterr().err
    assert cluster.sessions() == []


@pytest.mark.usefixtures("found")
@pytest.mark.parametrize(("users", "words", "user"), [(ADA, [], "ada"), (BOTH, ["--user", "grace"], "grace")])
def test_jobs_are_submitted_as_a_user_of_the_cluster(cluster: FakeCluster, users: str, words: list[str], user: str):
    assert main(["jobs", "submit", "-f", fleet(cluster, users), "--stage", "train", *words]) == 0
    assert (cluster.folder / "users").read_text() == f"{user}\n"


@pytest.mark.usefixtures("found")
@pytest.mark.parametrize(
    ("users", "words", "said"),
    [
        (BOTH, [], "--user is required"),
        (ADA, ["--user", "adda"], "'ada'"),
        (ADA, ["--stage", "test-nccl"], "run 'tanuki' has no such stage"),
        (ADA, ["--set", "STEPS=3"], "the run in the fleet file already sets this"),
    ],
)
def test_errors_are_reported_before_anything_is_submitted(
    cluster: FakeCluster, capsys: pytest.CaptureFixture[str], users: str, words: list[str], said: str
):
    assert main(["jobs", "submit", "-f", fleet(cluster, users), *words]) == 1
    assert said in capsys.readouterr().err
    assert cluster.sessions() == []
