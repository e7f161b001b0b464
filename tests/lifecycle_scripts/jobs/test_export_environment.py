"""The environment of an export, and stages that run outside of a container because an image may lack the AWS CLI."""

from pathlib import Path
from typing import Any

import pytest

from tests.lifecycle_scripts.jobs.desk import Desk, Ended, understood

SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:hub-AbCdEf"


def exporting(place: Path, *, kind: str, reported: bool = True) -> tuple[Desk, Path]:
    """A desk whose nodes have an export image and an environment of `kind`."""
    desk = Desk(place, kind=kind).after("huggingface").set("export.sbatch", EXPORT_TO="s3://models/llama")
    image = desk.shared / "llm-fleet/environments/tgi-0123456789ab.sqsh"
    image.parent.mkdir(exist_ok=True)
    image.write_text("")
    if not (place / "bin/python3").exists():
        (place / "bin/python3").symlink_to("recorder")
    if reported:
        desk.reported(
            LLM_FLEET_EXPORT_ENVIRONMENT=str(image),
            LLM_FLEET_EXPORT_ENVIRONMENT_KIND="container",
            LLM_FLEET_EXPORT_PYTHON="python3",
        )
    return desk, image


def steps(ended: Ended) -> list[tuple[str, str | None]]:
    """The verb of each step, and the image that it ran in."""
    verbs = [
        words[words.index("llm_fleet_training") + 1]
        for call in ended.calls
        if "llm_fleet_training" in (words := call["words"]) and call["name"].startswith("python")
    ]
    images = [
        next((word.partition("=")[2] for word in words if word.startswith("--container-image=")), None)
        for words in ended.of("srun")
    ]
    return list(zip(verbs, images, strict=True))


@pytest.mark.parametrize("kind", ["venv", "container"])
def test_a_run_is_exported_in_the_nodes_export_environment(tmp_path: Path, kind: str) -> None:
    desk, image = exporting(tmp_path, kind=kind)
    ended = desk.submit("export", nodes=1)
    assert ended.code == 0, ended.said
    assert steps(ended) == [("export", str(image)), ("register", None)], "the node has the AWS CLI"
    assert [understood(words).run_folder for words in ended.of("python") if "register" in words] == (
        [desk.run] if kind == "venv" else []
    )


def test_the_jobs_environment_takes_precedence_over_that_of_the_run(tmp_path: Path) -> None:
    desk, _ = exporting(tmp_path / "chosen", kind="container")
    ended = desk.set("export.sbatch", EXPORT_ENVIRONMENT="neuron-2.28.1").submit("export", nodes=1)
    run = str(desk.shared / "llm-fleet/environments/neuron-2.28.1.sqsh")
    assert steps(ended) == [("export", run), ("register", None)]
    desk, _ = exporting(tmp_path / "none", kind="venv", reported=False)
    assert steps(desk.submit("export", nodes=1)) == [("export", None), ("register", None)]


def test_an_invisible_export_environment_is_reported(tmp_path: Path) -> None:
    desk, image = exporting(tmp_path, kind="venv")
    image.unlink()
    ended = desk.submit("export", nodes=1)
    assert (ended.code, ended.of("srun"), f"does not see the environment {image}" in ended.said) == (3, [], True)


@pytest.mark.parametrize(
    ("settings", "pickles", "outside"),
    [("s3://models/llama", "false", True), ("s3://models/llama", "true", False), ("me/llama", "false", False)],
)
def test_a_model_in_s3_is_downloaded_outside_of_a_container(
    tmp_path: Path, settings: str, pickles: str, outside: bool
) -> None:
    desk = Desk(tmp_path, kind="container").set("run.sh", MODEL=settings).set("download.sbatch", PICKLES=pickles)
    ended = desk.submit("download", nodes=1)
    assert ended.code == 0, ended.said
    ((verb, image),) = steps(ended)
    assert (verb, image is None) == ("download", outside)


def token(place: Path, kind: str, aws: dict[str, Any], own: str = "") -> Ended:
    desk = Desk(place, kind=kind).reported(LLM_FLEET_HUB_TOKEN_SECRET=SECRET)
    desk.behavior = {"aws": aws}
    return desk.submit("download", nodes=1, HF_TOKEN=own) if own else desk.submit("download", nodes=1)


def test_a_container_gets_the_hub_token_only_as_variable(tmp_path: Path) -> None:
    ended = token(tmp_path / "a", "container", {"says": "hf_abc"})
    assert (ended.code, len(ended.of("aws"))) == (0, 1), ended.said
    assert ended.environment("python3")["HF_TOKEN"] == "hf_abc"
    assert "hf_abc" not in ended.said + str([call["words"] for call in ended.calls])
    assert token(tmp_path / "b", "container", {}, own="hf_own").of("aws") == []
    assert token(tmp_path / "c", "venv", {}).of("aws") == [], "the program reads the secret itself if needed"
    ended = token(tmp_path / "d", "container", {"codes": [254]})
    assert (ended.code, "LFJ49" in ended.said, ended.of("srun")) == (3, True, [])


def test_a_container_gets_the_nodes_aws_cli_only_if_it_is_version_2(tmp_path: Path) -> None:
    desk = Desk(tmp_path, kind="container").after("weights").set("tokenize.sbatch", DATA="s3://mine/text")
    assert desk.submit("tokenize").environment("python3")["LLM_FLEET_AWS"] == "", "version 1 needs its own Python"
    installed = tmp_path / "usr/local/aws-cli"
    (installed / "v2/2.27.0/dist").mkdir(parents=True)
    (installed / "v2/current").symlink_to("2.27.0")
    (tmp_path / "bin/aws").rename(installed / "v2/2.27.0/dist/aws")
    (installed / "v2/2.27.0/dist/aws").unlink()
    (installed / "v2/2.27.0/dist/aws").write_text("#!/bin/sh\n")
    (installed / "v2/2.27.0/dist/aws").chmod(0o755)
    (tmp_path / "bin/aws").symlink_to(installed / "v2/current/dist/aws")
    ended = desk.submit("tokenize")
    (mounts,) = (word for word in ended.of("srun")[0] if word.startswith("--container-mounts="))
    assert mounts.endswith(f",{installed}:{installed}")
    assert ended.environment("python3")["PATH"].endswith(f":{installed}/v2/current/dist")
