"""Images: built once per recipe, and incomplete ones are never used."""

import shutil
from pathlib import Path

import pytest

from llm_fleet_local.drill.image import image as module
from llm_fleet_local.drill.image.distribution import distributions
from llm_fleet_local.drill.image.image import ImageError, Images, recipe_keys
from llm_fleet_local.drill.image.prerequisites import MissingPrerequisite, provide


def nothing(*_: object, **__: object) -> None:
    """Replace functions that download or install something."""


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy = tmp_path / "recipe"
    shutil.copytree(module.RECIPE, copy)
    monkeypatch.setattr(module, "RECIPE", copy)
    return copy


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace real builds by folders; return the built layers by kind."""
    kinds: list[str] = []

    def run_layer(kind: str, out: Path, *arguments: str) -> None:
        kinds.append(kind)
        (out / "root").mkdir()
        if kind == "slurm":
            assert (Path(arguments[0])).name == "root"
            (out / "packages").mkdir()

    monkeypatch.setattr(module, "_run_layer", run_layer)
    monkeypatch.setattr(module, "fetch_aws_cli", nothing)
    return kinds


DEBIAN = distributions()["debian-13"]


@pytest.mark.parametrize("part", ["base.packages", "base.sh", "last.sh", "aws-cli.txt", "files/base/usr/local/bin/aws"])
def test_a_change_of_the_base_is_another_base_and_another_slurm(recipe: Path, part: str) -> None:
    before = recipe_keys(DEBIAN)
    with open(recipe / part, "a") as file:
        file.write("# changed\n")
    after = recipe_keys(DEBIAN)
    assert after[0] != before[0]
    assert after[1] != before[1]


@pytest.mark.parametrize(
    "part", ["slurm.packages", "slurm.sh", "auto_resume.c", "files/slurm/etc/systemd/system/slurmd.service"]
)
def test_a_change_of_slurm_leaves_the_base(recipe: Path, part: str) -> None:
    before = recipe_keys(DEBIAN)
    with open(recipe / part, "a") as file:
        file.write("# changed\n")
    after = recipe_keys(DEBIAN)
    assert after[0] == before[0]
    assert after[1] != before[1]


def test_a_lost_execute_bit_and_a_moved_file_are_changes(recipe: Path) -> None:
    before = recipe_keys(DEBIAN)
    aws = recipe / "files/base/usr/local/bin/aws"
    aws.chmod(0o644)
    without_bit = recipe_keys(DEBIAN)
    aws.rename(aws.with_name("aws2"))
    assert len({before, without_bit, recipe_keys(DEBIAN)}) == 3


def test_another_archive_is_another_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_FLEET_DRILL_DEBIAN_MIRROR", "http://mirror.example/debian")
    assert recipe_keys(distributions()["debian-13"]) != recipe_keys(DEBIAN)


def test_is_built_once(tmp_path: Path, built: list[str]) -> None:
    images = Images(tmp_path / "images", lambda _: None)
    first = images.provide("slurm")
    assert images.provide("slurm") == first
    bare = images.provide("bare")
    assert built == ["base", "slurm"]
    assert bare.layers == first.layers[1:]
    assert bare.packages == first.packages


def test_a_killed_build_is_deleted(tmp_path: Path, built: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    images = Images(tmp_path / "images", lambda _: None)

    def killed(kind: str, out: Path, *_: str) -> None:
        (out / "root").mkdir()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module, "_run_layer", killed)
        with pytest.raises(KeyboardInterrupt):
            images.provide()
    assert [path.name[0] for path in (tmp_path / "images").iterdir()] == [".", "."]
    images.provide()
    assert built == ["base", "slurm"]
    assert not list((tmp_path / "images").glob(".building-*"))


def test_a_failed_build_reports_the_end_of_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "layer.sh"
    script.write_text("echo E: no such package; exit 7\n")
    monkeypatch.setattr(module, "_LAYER", script)
    monkeypatch.setattr(module, "_ALONE", ("bash",))
    monkeypatch.setattr(module, "fetch_aws_cli", nothing)
    monkeypatch.setattr(module, "provide", nothing)
    with pytest.raises(ImageError, match=r"(?s)see .*/debian-13-base-[0-9a-f]{12}\.log:\nE: no such package"):
        Images(tmp_path / "images", lambda _: None).provide()


def test_an_unknown_variant_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="unknown image 'rich'; choose one of slurm, bare"):
        Images(tmp_path).provide("rich")


def test_missing_programs_are_reported_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(
        MissingPrerequisite, match=r"mmdebstrap, ip not found.*as root: apt-get install --yes iproute2 mmdebstrap$"
    ):
        provide("mmdebstrap", "ip", say=print)


def test_missing_programs_are_installed_as_root_with_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    apt = tmp_path / "apt-get"
    apt.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/requested\n')
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    said: list[str] = []
    provide("mmdebstrap", say=said.append)
    assert (tmp_path / "requested").read_text() == "-qq update\n-qq install --yes mmdebstrap\n"
    assert said == ["installing mmdebstrap on this machine with apt-get"]


def test_apt_that_fails_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    apt = tmp_path / "apt-get"
    apt.write_text("#!/bin/sh\necho E: no network >&2; exit 100\n")
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    with pytest.raises(MissingPrerequisite, match=r"`apt-get -qq update` ended with 100: E: no network"):
        provide("mmdebstrap", say=lambda _: None)


def test_packages_are_listed_once() -> None:
    for name in ("base", "slurm"):
        lines = (module.RECIPE / f"{name}.packages").read_text().split("\n")
        packages = [line for line in lines if line and not line.startswith("#")]
        assert len(packages) == len(set(packages))
        assert all(line.islower() and " " not in line for line in packages)


def test_every_pin_of_the_aws_cli_has_a_checksum() -> None:
    text = (module.RECIPE / "aws-cli.txt").read_text()
    pins = [line for line in text.split("\n") if "==" in line and not line.startswith("#")]
    assert len(pins) > 5
    assert text.count("--hash=sha256:") >= len(pins)
    assert all(line.endswith("\\") for line in pins)
