"""The step hosts."""

import dataclasses
from pathlib import Path

import pytest

from llm_fleet_node import names
from llm_fleet_node.failures import Failure
from llm_fleet_node.host import Host
from llm_fleet_node.node import Node
from llm_fleet_node.own_address import own_address
from llm_fleet_node.platform_files import Instance
from llm_fleet_node.steps.hosts import STEP
from tests.lifecycle_scripts.base_steps.node_with_systemd import NAME, OWN, build
from tests.lifecycle_scripts.convergence import applied, converges
from tests.lifecycle_scripts.step_node import file, program


def without_dns(root: Path) -> Node:
    node = build(root)
    file(root, "/dns", "")
    return node


def identified(node: Node, **changed: object) -> Node:
    return dataclasses.replace(node, identity=dataclasses.replace(node.identity, **changed))  # type: ignore[arg-type]


def test_nothing_is_written_if_dns_resolves_all_names(tmp_path: Path) -> None:
    assert applied(STEP, build(tmp_path)) == []


def test_names_get_entries_before_dns_works(tmp_path: Path) -> None:
    node = without_dns(tmp_path)
    assert applied(STEP, node) == ["wrote /etc/hosts"]
    text = names.get_block(node.host, names.HOSTS, "names")
    assert text == f"{OWN} {NAME}\n10.1.0.5 ip-10-1-0-5\n"
    assert applied(STEP, node) == []


def test_it_converges_after_a_kill_at_any_point(tmp_path: Path) -> None:
    assert converges(STEP, without_dns, tmp_path) == 1


def test_entries_stay_after_dns_works(tmp_path: Path) -> None:
    node = without_dns(tmp_path)
    applied(STEP, node)
    file(tmp_path, "/dns", f"{OWN} {NAME}\n10.1.0.5 ip-10-1-0-5\n")
    assert applied(STEP, node) == []


def test_if_files_come_first_no_program_is_run(tmp_path: Path) -> None:
    node = build(tmp_path)
    file(tmp_path, "/etc/hosts", f"{OWN} {NAME}\n10.1.0.5 ip-10-1-0-5\n")
    file(tmp_path, "/etc/nsswitch.conf", "passwd: files\nhosts:          files dns\n")
    program(tmp_path, "getent", "sys.exit('asked')")
    assert applied(STEP, node) == []


def test_if_dns_comes_first_its_answer_is_used(tmp_path: Path) -> None:
    node = build(tmp_path)
    file(tmp_path, "/etc/hosts", f"{OWN} {NAME}\n")
    file(tmp_path, "/etc/nsswitch.conf", "hosts: dns files\n")
    program(tmp_path, "getent", "print('10.7.7.7 STREAM')")
    with pytest.raises(Failure, match=f"LFN41  {NAME} resolves to 10.7.7.7"):
        STEP.verify(node)


@pytest.mark.parametrize("wrong", [f"127.0.1.1 {NAME}\n", f"10.7.7.7 {NAME}\n"], ids=["loopback", "of an old image"])
def test_a_wrong_entry_of_the_image_is_overridden(tmp_path: Path, wrong: str) -> None:
    node = build(tmp_path)
    file(tmp_path, "/etc/hosts", wrong)
    assert applied(STEP, node) == ["wrote /etc/hosts"]
    assert names.resolve(node.host, NAME)[0] == OWN
    assert wrong in (tmp_path / "etc/hosts").read_text()
    assert applied(STEP, node) == []


def test_correct_entries_of_the_platform_are_not_changed(tmp_path: Path) -> None:
    node = without_dns(tmp_path)
    text = f"127.0.0.1 localhost\n{OWN} {NAME}\n10.1.0.5 ip-10-1-0-5\n"
    file(tmp_path, "/etc/hosts", text)
    assert applied(STEP, node) == []
    assert (tmp_path / "etc/hosts").read_text() == text


def test_a_full_name_also_gets_its_short_name(tmp_path: Path) -> None:
    node = without_dns(tmp_path)
    file(tmp_path, "/proc/sys/kernel/hostname", "node1.ec2.internal\n")
    applied(STEP, node)
    assert f"{OWN} node1.ec2.internal node1\n" in (tmp_path / "etc/hosts").read_text()


def test_names_of_parallelcluster_are_not_changed(tmp_path: Path) -> None:
    node = without_dns(tmp_path)
    node = dataclasses.replace(node, manifest=dataclasses.replace(node.manifest, platform="parallelcluster"))
    file(tmp_path, "/etc/hosts", f"{OWN} {NAME}\n")
    assert applied(STEP, node) == []


@pytest.mark.parametrize("name", ["localhost", "(none)", ""])
def test_a_node_without_a_host_name_is_reported(tmp_path: Path, name: str) -> None:
    node = build(tmp_path)
    file(tmp_path, "/proc/sys/kernel/hostname", f"{name}\n")
    with pytest.raises(Failure, match="LFN41  the node has no host name but localhost"):
        STEP.apply(node)


def test_a_node_without_an_address_is_reported(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=f"LFN41  {NAME} has only a loopback address"):
        STEP.apply(identified(build(tmp_path), addresses=()))


def test_a_name_that_resolves_to_another_node_is_reported(tmp_path: Path) -> None:
    node = build(tmp_path)
    file(tmp_path, "/dns", f"10.7.7.7 {NAME}\n")
    with pytest.raises(Failure, match=rf"LFN41  {NAME} resolves to 10.7.7.7, but this node's addresses are {OWN}"):
        STEP.verify(node)


def test_a_name_that_does_not_resolve_is_reported(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"LFN41  .* resolves to nothing within 5 s"):
        STEP.verify(without_dns(tmp_path))


def test_a_resolver_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm_fleet_node.steps.hosts._SECONDS", 0.2)
    node = build(tmp_path)
    program(tmp_path, "getent", "import time; time.sleep(60)")
    with pytest.raises(Failure, match=r"LFN41  .* nothing within 0.2 s"):
        STEP.verify(node)


def test_names_in_the_hosts_file_need_no_dns_query(tmp_path: Path) -> None:
    file(tmp_path, "/etc/hosts", "10.0.0.3 a b # c\nfe80::1 a\n")
    program(tmp_path, "getent", "sys.exit('asked')")
    assert names.addresses_of(Host(tmp_path), "b") == ("10.0.0.3",)
    assert names.addresses_of(Host(tmp_path), "c") == ()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/etc/resolv.conf", "nameserver 10.0.0.2\nsearch {}.internal\n"),
        ("/etc/hosts", OWN + " " + NAME + ".{}.internal " + NAME + "\n"),
    ],
)
def test_a_too_long_host_name_is_reported(tmp_path: Path, path: str, text: str) -> None:
    node = build(tmp_path)
    file(tmp_path, path, text.format("x" * 42))
    whole = f"{NAME}.{'x' * 42}.internal"
    assert len(whole) == 64
    with pytest.raises(Failure, match=f"LFN42  {whole} has 64 characters"):
        STEP.verify(node)
    file(tmp_path, path, text.format("x" * 41))
    STEP.verify(node)


def test_a_controller_name_that_resolves_to_another_node_is_reported(tmp_path: Path) -> None:
    node = build(tmp_path)
    file(tmp_path, "/etc/hosts", "10.7.7.7 ip-10-1-0-5\n")
    with pytest.raises(Failure, match=r"LFN43  the controller ip-10-1-0-5 resolves to 10.7.7.7, not to 10.1.0.5"):
        STEP.verify(node)


def test_a_wrong_entry_of_a_controller_is_overridden(tmp_path: Path) -> None:
    node = build(tmp_path)
    file(tmp_path, "/etc/hosts", f"10.7.7.7 ip-10-1-0-5\n10.1.0.5 ip-10-1-0-5\n{OWN} {NAME}\n")
    file(tmp_path, "/etc/nsswitch.conf", "hosts: files dns\n")
    with pytest.raises(Failure, match=r"LFN43  .* resolves to 10\.7\.7\.7, 10\.1\.0\.5, not to 10\.1\.0\.5"):
        STEP.verify(node)
    assert applied(STEP, node) == ["wrote /etc/hosts"]
    assert names.meaning(node.host, "ip-10-1-0-5")[0] == "10.1.0.5"


def test_a_worker_without_platform_and_controller_is_reported(tmp_path: Path) -> None:
    node = identified(build(tmp_path), controllers=())
    STEP.verify(node)
    with pytest.raises(Failure, match="LFN43"):
        STEP.verify(dataclasses.replace(node, hook="OnCreate"))


def test_the_address_in_the_platforms_list_is_used(tmp_path: Path) -> None:
    node = identified(
        build(tmp_path),
        addresses=("10.1.0.12", "10.1.0.77"),
        neighbors=(Instance("trn", "trn-1", "i-1", "10.1.0.77"),),
    )
    assert own_address(node, NAME) == "10.1.0.77"


def test_the_address_in_the_host_name_is_used(tmp_path: Path) -> None:
    assert own_address(identified(build(tmp_path), addresses=("10.1.0.11", OWN)), NAME) == OWN


def test_the_address_of_the_default_route_is_used(tmp_path: Path) -> None:
    file(
        tmp_path,
        "/proc/net/route",
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
        "ens5\t00000000\t0100020A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
        "ens5\t0000020A\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n"
        "ens6\t0000010A\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n",
    )
    node = identified(build(tmp_path), addresses=("10.1.0.11", "10.2.0.7"))
    assert own_address(node, "head") == "10.2.0.7"
    assert own_address(identified(node, addresses=("10.3.0.1",)), "head") == "10.3.0.1"
