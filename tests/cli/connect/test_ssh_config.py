"""Settings of ssh: what ssh itself reads in them, on POSIX and on Windows."""

import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from llm_fleet.cli.connect.interactive import Platform
from llm_fleet.cli.connect.ssh_config import INCLUDE, ssh_config, write_ssh_file
from llm_fleet.cli.nodes.node import NodeRole
from llm_fleet.rules.problem import FleetError
from tests.cli.nodes.made_nodes import node

NODES = [node("controller", role=NodeRole.CONTROLLER), node("trn1", 1), node("trn1", 2, status="Pending")]


def text(platform: Platform = Platform.LINUX, *, profile: str | None = None, user: str | None = "ada") -> str:
    return ssh_config(NODES, prefix="post-ml", region="us-west-2", user=user, profile=profile, platform=platform)


def as_ssh_reads(config: str, host: str, folder: Path) -> dict[str, str]:
    if shutil.which("ssh") is None:
        pytest.skip("this machine has no ssh")
    file = folder / "config"
    file.write_text(config)
    shown = subprocess.run(["ssh", "-G", "-F", file, host], capture_output=True, text=True, check=True).stdout
    return {key: value for key, _, value in (line.partition(" ") for line in shown.splitlines())}


def test_each_node_that_runs_has_an_entry_by_each_of_its_names():
    hosts = [line for line in text().splitlines() if line.startswith("Host ")]
    assert hosts == [
        f"Host post-ml-controller post-ml-controller-1 post-ml-{NODES[0].name}",
        f"Host post-ml-trn1-1 post-ml-{NODES[1].name}",
        "Host post-ml-*",
    ]


def test_ssh_reads_it(tmp_path: Path):
    read = as_ssh_reads(text(profile="night 100%"), "post-ml-trn1-1", tmp_path)
    assert read["user"] == "ada"
    assert read["stricthostkeychecking"] == "accept-new"
    assert read["hostkeyalias"] == NODES[1].instance_id
    assert read["userknownhostsfile"].endswith("/.ssh/llm-fleet/known_hosts")
    assert read["proxycommand"] == (
        "aws ssm start-session --profile 'night 100%%' --region us-west-2 "
        f"--target {NODES[1].target} --document-name AWS-StartSSHSession --parameters portNumber=%p"
    )


def test_on_windows_powershell_starts_it_by_its_whole_name():
    (line,) = [line for line in text(Platform.WINDOWS).splitlines() if "ProxyCommand" in line][:1]
    assert line == (
        r"  ProxyCommand C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe "
        f'"aws ssm start-session --region us-west-2 --target {NODES[0].target} '
        '--document-name AWS-StartSSHSession --parameters portNumber=%p"'
    )
    assert "--profile 'at night'" in text(Platform.WINDOWS, profile="at night")


def test_no_host_key_is_left_unchecked():
    for platform in Platform:
        assert "accept-new" in text(platform)
        assert "/dev/null" not in text(platform)


def test_the_file_is_its_owners_only_and_the_persons_own_stays_untouched(tmp_path: Path):
    path, included = write_ssh_file("one\n", name="ml", home=tmp_path)
    assert (path, included) == (tmp_path / ".ssh/llm-fleet/ml.conf", False)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    own = tmp_path / ".ssh/config"
    own.write_text(f"{INCLUDE}\nHost *\n")
    assert write_ssh_file("two\n", name="ml", home=tmp_path) == (path, True)
    assert (path.read_text(), own.read_text()) == ("two\n", f"{INCLUDE}\nHost *\n")
    assert [one.name for one in path.parent.iterdir()] == ["ml.conf"]


def test_a_home_that_is_no_place_to_write_is_told(tmp_path: Path):
    (tmp_path / ".ssh").write_text("")
    with pytest.raises(FleetError, match="the file cannot be written"):
        write_ssh_file("", name="ml", home=tmp_path)
