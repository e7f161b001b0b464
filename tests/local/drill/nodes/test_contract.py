"""Requirements for the nodes of every back end; the same tests for each."""

import subprocess
import time
from pathlib import Path

import pytest

from llm_fleet_local.drill.nodes.backend import Backend
from llm_fleet_local.drill.nodes.node import CommandError, Node, NodeError
from llm_fleet_local.drill.until import until

ORDERLY = """
[Service]
ExecStart=/usr/bin/sleep infinity
ExecStop=/bin/sh -c 'echo yes >/var/lib/ended-in-order'
"""


def test_boots_a_healthy_systemd_as_first_process(two: list[Node]) -> None:
    for node in two:
        assert node.run("systemctl", "is-system-running").stdout == "running\n"
        assert node.run("cat", "/proc/1/comm").stdout == "systemd\n"


def test_has_its_name_and_address(two: list[Node]) -> None:
    for node in two:
        assert node.run("hostname").stdout.strip() == node.name == node.read("/etc/hostname").strip()
        assert f"inet {node.address}/16" in node.run("ip", "-4", "address", "show", "eth0").stdout


def test_nodes_have_their_own_machine_id_and_host_key(two: list[Node]) -> None:
    one, other = two
    for path in ("/etc/machine-id", "/etc/ssh/ssh_host_ed25519_key.pub"):
        assert one.read(path) != other.read(path)


def test_nodes_reach_one_another_and_have_a_default_route(two: list[Node], backend: Backend) -> None:
    one, other = two
    one.run("ping", "-c", "1", "-W", "2", other.address)
    assert f"default via {backend.network.services_address}" in one.run("ip", "route").stdout


def test_nodes_query_no_name_server(two: list[Node]) -> None:
    assert two[0].read("/etc/resolv.conf") == ""


def test_sees_only_its_own_processes(two: list[Node]) -> None:
    def runs(node: Node) -> bool:
        return "sleep\x004711" in node.run("sh", "-c", "cat /proc/[0-9]*/cmdline").stdout

    running = two[1].start("sleep", "4711", log=Path("/dev/null"))
    until("the second node runs its sleep", lambda: runs(two[1]), seconds=30)
    assert not runs(two[0])
    running.kill()
    assert not runs(two[1])


def test_has_no_disk_of_the_machine(two: list[Node]) -> None:
    assert two[0].run("find", "/dev", "-type", "b").stdout == ""


def test_cannot_set_the_machines_clock(two: list[Node]) -> None:
    before = time.time()
    assert two[0].run("date", "--set=2001-01-01", check=False).returncode != 0
    assert abs(time.time() - before) < 60


def test_run_passes_input_and_returns_exit_code_and_output(two: list[Node]) -> None:
    done = two[0].run("sh", "-c", "cat; echo oops >&2; exit 3", input="héllo", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "héllo", "oops\n")
    with pytest.raises(CommandError, match=r"ip-10-67-1-1: `sh -c echo oops >&2; exit 3` ended with 3: oops"):
        two[0].run("sh", "-c", "echo oops >&2; exit 3")


def test_run_sets_only_the_given_environment(two: list[Node], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_MACHINE", "x")
    reported = two[0].run("env", env={"ADDED": "for it"}).stdout.splitlines()
    assert "ADDED=for it" in reported
    assert "HOME=/root" in reported
    assert not [line for line in reported if line.startswith("SECRET_OF_THE_MACHINE")]


def test_run_kills_a_command_after_its_timeout(two: list[Node]) -> None:
    with pytest.raises(CommandError, match="not done in 1 s") as reported:
        two[0].run("sh", "-c", "echo begun; sleep 1234 & sleep 1234", timeout=1)
    assert reported.value.done.returncode == 124
    assert reported.value.done.stdout == "begun\n"
    assert "sleep\x001234" not in two[0].run("sh", "-c", "cat /proc/[0-9]*/cmdline").stdout


def test_a_started_command_continues_and_appends_to_its_log(two: list[Node], tmp_path: Path) -> None:
    log = tmp_path / "log"
    running = two[0].start("sh", "-c", "echo $WORD; exit 5", env={"WORD": "hi"}, log=log)
    assert running.wait(10) == 5
    assert running.poll() == 5
    two[0].start("echo", "there", log=log).wait(10)
    assert log.read_text() == "hi\nthere\n"


def test_write_and_read(two: list[Node]) -> None:
    text = "line\r\nü\n"
    two[0].write("/etc/some/where/file", text, mode=0o640)
    assert two[0].read("/etc/some/where/file") == text
    assert two[0].run("stat", "-c", "%a %U", "/etc/some/where/file").stdout == "640 root\n"
    with pytest.raises(FileNotFoundError):
        two[0].read("/etc/some/where/else")


def test_writes_through_links_stay_in_the_node(two: list[Node]) -> None:
    two[0].run("ln", "-s", "/opt/target-of-the-test", "/etc/link-of-the-test")
    two[0].write("/etc/link-of-the-test/file", "inside")
    assert not Path("/opt/target-of-the-test").exists()
    assert two[0].run("cat", "/opt/target-of-the-test/file").stdout == "inside"
    assert two[0].read("/etc/link-of-the-test/file") == "inside"


def test_writes_into_its_memory_file_systems(two: list[Node]) -> None:
    two[0].write("/run/drill-test", "seen")
    assert two[0].run("cat", "/run/drill-test").stdout == "seen"


def test_shared_folders_are_the_same_on_all_nodes(two: list[Node], backend: Backend) -> None:
    two[0].run("sh", "-c", "echo from one >/fsx/file")
    assert two[1].run("cat", "/fsx/file").stdout == "from one\n"
    assert (backend.folder / "shared" / "file").read_text() == "from one\n"


def test_services_are_reached_at_their_address(two: list[Node], backend: Backend, tmp_path: Path) -> None:
    (tmp_path / "page").write_text("served")
    address = backend.network.services_address
    server = backend.network.start(
        "python3", "-m", "http.server", "8123", "--bind", address, log=tmp_path / "log", cwd=tmp_path
    )
    got = two[0].run(
        "curl", "-sS", "--retry", "20", "--retry-connrefused", "--retry-delay", "1", f"{address}:8123/page"
    )
    assert got.stdout == "served"
    server.kill()
    assert server.poll() is not None


def test_a_reboot_keeps_the_root_and_loses_memory(two: list[Node]) -> None:
    node = two[0]
    node.write("/var/lib/kept", "kept")
    node.write("/opt/dlami/nvme/lost", "lost")
    node.write("/etc/systemd/system/orderly.service", ORDERLY)
    node.run("systemctl", "start", "orderly")
    before = node.run("cat", "/proc/1/stat").stdout
    identity = node.read("/etc/machine-id")
    node.reboot()
    assert node.run("cat", "/proc/1/stat").stdout != before
    assert node.read("/var/lib/kept") == "kept"
    assert node.read("/var/lib/ended-in-order") == "yes\n"
    assert node.read("/etc/machine-id") == identity
    assert node.run("ls", "/opt/dlami/nvme").stdout == ""
    assert node.run("df", "--output=size", "-BM", "/opt/dlami/nvme").stdout.split()[-1] == "16M"
    node.run("ping", "-c", "1", "-W", "2", two[1].address)


def test_a_replaced_node_has_a_fresh_root_and_the_same_name_and_address(two: list[Node]) -> None:
    node = two[0]
    node.write("/var/lib/gone", "gone")
    identity = node.read("/etc/machine-id")
    node.replace()
    with pytest.raises(FileNotFoundError):
        node.read("/var/lib/gone")
    assert node.read("/etc/machine-id") != identity
    assert node.run("hostname").stdout.strip() == node.name
    two[1].run("ping", "-c", "1", "-W", "2", node.address)


def test_a_command_of_the_terminal_runs_on_the_node_and_never_on_the_machine(two: list[Node]) -> None:
    node, _ = two
    command = [word for word in node.on_terminal("hostname") if word not in ("--tty", "-t")]
    said = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == node.name


def test_a_powered_off_node_sends_nothing(two: list[Node], tmp_path: Path) -> None:
    """A peer's connection to it stays open, as after a power failure: no reset, no end of file."""
    node, peer = two
    listen = "import socket,time; s=socket.create_server(('', 9999)); c,_=s.accept(); c.send(b'x'); time.sleep(99)"
    node.start("python3", "-c", listen, log=Path("/dev/null"))
    talk = (
        "import socket,time\n"
        "for _ in range(100):\n"
        "  try: s=socket.create_connection(('" + node.address + "', 9999)); break\n"
        "  except ConnectionRefusedError: time.sleep(.1)\n"
        "s.recv(1); open('/run/connected','w').close(); s.settimeout(2)\n"
        "try: print('farewell', s.recv(1))\n"
        "except TimeoutError: print('silence')\n"
    )
    log = tmp_path / "said"
    talking = peer.start("python3", "-c", talk, log=log)
    peer.run("timeout", "20", "sh", "-c", "until test -e /run/connected; do sleep 0.05; done")
    node.power_off()
    assert talking.wait(20) == 0
    assert log.read_text() == "silence\n"
    assert not node.running
    with pytest.raises(NodeError, match="is off"):
        node.run("true")
    with pytest.raises(NodeError, match="is off"):
        node.on_terminal("true")
    node.reboot()
    assert node.running
    node.run("true")


def test_duplicate_names_and_addresses_of_other_networks_are_rejected(backend: Backend, two: list[Node]) -> None:
    with pytest.raises(NodeError, match=r"a node ip-10-67-1-1 already exists"):
        backend.create("ip-10-67-1-1", "10.67.1.9")
    with pytest.raises(NodeError, match=r"10\.99\.0\.1 is not in the cluster's 10\.67\.0\.0/16"):
        backend.create("ip-10-99-0-1", "10.99.0.1")


def test_a_destroyed_node_can_be_created_again(backend: Backend, two: list[Node]) -> None:
    node = backend.create("ip-10-67-1-3", "10.67.1.3")
    node.destroy()
    node.destroy()
    assert not node.running
    again = backend.create("ip-10-67-1-3", "10.67.1.3")
    again.run("true")
    again.destroy()
