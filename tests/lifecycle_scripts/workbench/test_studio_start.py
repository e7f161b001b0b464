"""Studio's lifecycle script on a throwaway root, with a `sudo` that has its own search path, as by
`secure_path` does: the Python of SageMaker Distribution, in /opt/conda/bin, is in none of them.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from llm_fleet.lifecycle.script_folder import packed
from tools.synth_environment import ROOT

SCRIPTS = ROOT / "lifecycle_scripts"
MODULES = ("__init__", "places", "prepare")
MOUNTS = "mnt/custom-file-systems/fsx_lustre"
SECURE = ("env", "ln", "mkdir", "tee", "true")
SUDO = '#!/bin/bash\n[[ $1 == -n ]] || exit 9\nshift\nexec /usr/bin/env -i PATH="${0%/*}/secure" "$@"\n'


def script() -> str:
    files = {f"opt/llm-fleet/notebook_instance/{one}.py": (SCRIPTS / f"notebook_instance/{one}.py") for one in MODULES}
    held = {path: file.read_bytes() for path, file in files.items()} | {"usr/local/bin/cluster-shell": b"#!/bin/sh\n"}
    settings = json.dumps({"pins": ["sagemaker<3"], "bucket": "our-bucket"})
    text = (SCRIPTS / "studio/on_start.sh").read_text(encoding="utf-8")
    return text.replace("@FILES@", packed(held, executable=frozenset({"usr/local/bin/cluster-shell"}))).replace(
        "@SETTINGS@", settings
    )


def start(root: Path, *, sudo: str = SUDO) -> subprocess.CompletedProcess[str]:
    programs = root / "programs"
    (programs / "secure").mkdir(parents=True, exist_ok=True)
    for name in SECURE:
        found, link = shutil.which(name), programs / "secure" / name
        assert found is not None
        if not link.is_symlink():
            link.symlink_to(found)
    for name, text in {"sudo": sudo, "python3": f'#!/bin/bash\nexec {sys.executable} "$@"\n'}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    environment = {**os.environ, "LLM_FLEET_ROOT": str(root), "PATH": f"{programs}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash"], input=script(), env=environment, capture_output=True, text=True, check=False, cwd=root
    )


def mount(root: Path, *ids: str) -> None:
    for one in ids:
        (root / MOUNTS / one).mkdir(parents=True)


def test_all_files_are_written_and_a_second_start_has_the_same_result(tmp_path: Path):
    mount(tmp_path, "fs-1")
    for _ in range(2):
        done = start(tmp_path)
        assert done.returncode == 0, done.stderr
    assert "constraint = " + str(tmp_path / "etc/llm-fleet/constraints.txt") in (tmp_path / "etc/pip.conf").read_text()
    assert (tmp_path / "etc/llm-fleet/constraints.txt").read_text() == "sagemaker<3\n"
    assert "our-bucket" in (tmp_path / "etc/xdg/sagemaker/config.yaml").read_text()
    assert os.access(tmp_path / "usr/local/bin/cluster-shell", os.X_OK)
    assert (tmp_path / "fsx").resolve() == tmp_path / MOUNTS / "fs-1"
    assert list((tmp_path / MOUNTS / "fs-1").iterdir()) == []


@pytest.mark.parametrize(
    ("ids", "reported"),
    [((), "no FSx for Lustre file system is attached to this space"), (("fs-1", "fs-2"), "so /fsx is not linked")],
)
def test_without_or_with_several_file_systems_the_start_succeeds(tmp_path: Path, ids: tuple[str, ...], reported: str):
    mount(tmp_path, *ids)
    done = start(tmp_path)
    assert done.returncode == 0
    assert reported in done.stdout
    assert not (tmp_path / "fsx").exists()


def test_another_file_system_replaces_the_previous_link(tmp_path: Path):
    mount(tmp_path, "fs-1")
    start(tmp_path)
    (tmp_path / MOUNTS / "fs-1").rmdir()
    mount(tmp_path, "fs-2")
    start(tmp_path)
    assert (tmp_path / "fsx").resolve().name == "fs-2"


def test_an_existing_fsx_path_is_kept_and_reported(tmp_path: Path):
    mount(tmp_path, "fs-1")
    (tmp_path / "fsx").mkdir()
    done = start(tmp_path)
    assert done.returncode == 1
    assert "/fsx already exists in this image" in done.stderr


def test_an_image_without_sudo_is_reported(tmp_path: Path):
    done = start(tmp_path, sudo="#!/bin/bash\nexit 1\n")
    assert done.returncode == 1
    assert "use a SageMaker Distribution image" in done.stderr
