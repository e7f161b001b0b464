"""Additional requirements for the back end of plain Linux: it deletes everything of its own, and nothing else."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from llm_fleet_local.drill.image.image import Image, Images
from llm_fleet_local.drill.image.prerequisites import MissingPrerequisite
from llm_fleet_local.drill.nodes.cluster_record import unmount_below
from llm_fleet_local.drill.nodes.control_groups import TOP, hierarchies
from llm_fleet_local.drill.nodes.node import NodeError
from llm_fleet_local.drill.nodes.sweep import sweep
from llm_fleet_local.drill.nodes.unshare import UnshareBackend
from llm_fleet_local.drill.work_folder import image_folder, prepare_folders

pytestmark = pytest.mark.root

KILLED = """
import sys, time
from pathlib import Path
from llm_fleet_local.drill.image.image import Images
from llm_fleet_local.drill.nodes.sweep import sweep
from llm_fleet_local.drill.nodes.unshare import UnshareBackend
from llm_fleet_local.drill.work_folder import image_folder
backend = UnshareBackend(Images(image_folder()).provide(), Path(sys.argv[1]))
backend.create("ip-10-66-1-1", "10.66.1.1")
backend.network.start("sleep", "600", log=Path("/dev/null"))
print("up", flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def image() -> Image:
    return Images(image_folder()).provide()


@pytest.fixture
def work() -> Generator[Path]:
    """A work folder separate from the drill's own, so that a cleanup in it finds only clusters of these tests."""
    folder = prepare_folders(Path(__file__).parent) / f"test-{os.getpid()}"
    yield folder
    subprocess.run(["rm", "-rf", "--one-file-system", str(folder)], check=True)


def left_of(cluster: str, work: Path) -> list[str]:
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    groups = [hierarchy / TOP / cluster for hierarchy in hierarchies()]
    return [
        *(mount for mount in mounts if Path(mount).is_relative_to(work)),
        *(str(group) for group in groups if group.exists()),
        *(str(folder) for folder in (work / "clusters").glob("*")),
    ]


def test_nothing_remains_after_a_cluster(image: Image, work: Path) -> None:
    with UnshareBackend(image, work) as backend:
        backend.create("ip-10-66-1-1", "10.66.1.1")
        cluster = backend.folder.name
        service = backend.network.start("sleep", "600", log=backend.folder / "log")
        assert left_of(cluster, work)
    assert left_of(cluster, work) == []
    assert service.poll() is not None


def test_only_nodes_of_a_killed_drill_are_deleted(image: Image, work: Path) -> None:
    killed = subprocess.Popen([sys.executable, "-c", KILLED, str(work)], stdout=subprocess.PIPE, text=True)
    assert killed.stdout is not None
    assert killed.stdout.readline() == "up\n"
    (cluster,) = [folder.name for folder in (work / "clusters").iterdir()]

    assert sweep(work) == []
    assert left_of(cluster, work)

    killed.send_signal(signal.SIGKILL)
    killed.wait()
    said: list[str] = []
    reported = [f"removed the cluster {cluster}: the drill that created it (process {killed.pid}) has ended"]
    assert sweep(work, said.append) == said == reported
    assert left_of(cluster, work) == []


def test_the_next_cluster_first_deletes_old_nodes(image: Image, work: Path) -> None:
    dead = work / "clusters" / "0badcafe"
    dead.mkdir(parents=True)
    (dead / "cluster.json").write_text('{"name": "0badcafe", "engine": "", "owner": 4000000, "started": 1}')
    with UnshareBackend(image, work, say=lambda _: None):
        assert not dead.exists()


def test_a_reused_process_id_is_not_the_drill(work: Path) -> None:
    dead = work / "clusters" / "0badcafe"
    dead.mkdir(parents=True)
    (dead / "cluster.json").write_text(f'{{"name": "0badcafe", "engine": "", "owner": {os.getpid()}, "started": 1}}')
    assert len(sweep(work)) == 1
    assert not dead.exists()


def test_two_clusters_with_the_same_addresses_are_isolated(image: Image, work: Path) -> None:
    with UnshareBackend(image, work) as one, UnshareBackend(image, work) as other:
        alone = one.create("ip-10-66-1-1", "10.66.1.1")
        neighbor = other.create("ip-10-66-1-2", "10.66.1.2")
        alone.run("ping", "-c", "1", "-W", "1", one.network.services_address)
        assert alone.run("ping", "-c", "1", "-W", "1", neighbor.address, check=False).returncode == 1


def test_nothing_is_bound_on_the_machines_own_interfaces(image: Image, work: Path) -> None:
    def interfaces() -> set[str]:
        return {line.split()[0] for line in Path("/proc/net/dev").read_text().splitlines()[2:]}

    before = interfaces()
    with UnshareBackend(image, work) as backend:
        backend.create("ip-10-66-1-1", "10.66.1.1")
        assert interfaces() == before


def test_kernel_settings_of_the_machine_cannot_be_written(image: Image, work: Path) -> None:
    with UnshareBackend(image, work) as backend:
        node = backend.create("ip-10-66-1-1", "10.66.1.1")
        assert "Read-only" in node.run("sh", "-c", "echo 1 >/proc/sys/vm/swappiness", check=False).stderr
        node.run("sh", "-c", "echo 1024 >/proc/sys/net/core/somaxconn")


def test_a_node_that_does_not_boot_is_reported_with_the_reason(image: Image, work: Path) -> None:
    with (
        UnshareBackend(image, work) as backend,
        pytest.raises(NodeError, match=r"(?s)ip-10-66-1-1 did not boot: .*wrong fs type|mount.*unlikely"),
    ):
        backend.create("ip-10-66-1-1", "10.66.1.1", tmpfs={"/unlikely": "many"})


def test_without_root_the_error_has_the_remedy(image: Image, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(MissingPrerequisite, match=r"run it as root, .*, or add --backend docker"):
        UnshareBackend(image, work)
    assert not work.exists()


def test_the_image_has_the_layout_of_the_ami(image: Image, work: Path) -> None:
    with UnshareBackend(image, work) as backend:
        node = backend.create("ip-10-66-1-1", "10.66.1.1")
        assert node.run("readlink", "/opt/slurm").stdout == "slurm-24.11\n"
        for daemon in ("slurmctld", "slurmd"):
            assert node.run(f"/opt/slurm/sbin/{daemon}", "-V").stdout == "slurm-wlm 24.11.5\n"
            unit = f"/etc/systemd/system/{daemon}.service"
            assert f"${daemon.upper()}_OPTIONS" in node.read(unit)
            assert node.run("systemctl", "is-enabled", daemon, check=False).stdout == "disabled\n"
        assert node.read("/opt/slurm/etc/accounting.conf") == ""
        assert node.run("id", "-u", "ubuntu").stdout == "1000\n"
        assert node.run("runuser", "-u", "ubuntu", "--", "sudo", "-n", "id", "-u").stdout == "0\n"
        assert node.run("aws", "--version").stdout.startswith("aws-cli/1.46.2 ")
        assert node.run("test", "-e", "/etc/munge/munge.key", check=False).returncode == 1
        assert node.run("sh", "-c", "command -v sinfo", env={"PATH": "/usr/bin:/usr/sbin"}, check=False).stdout == ""


def test_the_bare_image_has_no_slurm(work: Path) -> None:
    with UnshareBackend(Images(image_folder()).provide("bare"), work) as backend:
        node = backend.create("ip-10-66-1-1", "10.66.1.1")
        assert node.run("systemctl", "is-system-running").stdout == "running\n"
        assert node.run("sh", "-c", "ls /opt; command -v munged mariadbd", check=False).stdout == "aws-cli\n"


@pytest.mark.parametrize("name", ["plain", "with blank", "jürgen"])
def test_everything_below_a_folder_is_unmounted_whatever_its_name(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    (folder / "inside").mkdir(parents=True)
    linked = tmp_path / "linked"
    linked.symlink_to(folder)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder / "inside")], check=True)
    try:
        unmount_below(linked)
        assert not (folder / "inside").is_mount()
    finally:
        subprocess.run(["umount", "--quiet", str(folder / "inside")], check=False)
