"""The step neuron_devices: counts devices from two sources, and reserves ports."""

import json
from pathlib import Path
from typing import Any

import pytest

from llm_fleet_node import waiting
from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.host import Host
from llm_fleet_node.manifest_parts import InstanceType
from llm_fleet_node.steps import neuron_devices
from llm_fleet_node.steps.neuron_devices import STEP
from tests.lifecycle_scripts.convergence import assert_fails
from tests.lifecycle_scripts.step_node import M5, P5, TRN1, TRN2, devices, file, make, program, said
from tests.pains.reported import reported
from tools.synth_environment import ROOT

STAND_IN = ROOT / "local/llm_fleet_local/drill/stand_ins/programs/neuron-ls"
RESERVED = "/proc/sys/net/ipv4/ip_local_reserved_ports"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    file(tmp_path, RESERVED, "\n")
    devices(tmp_path, range(16))
    return tmp_path


def neuron_ls(root: Path, body: str) -> None:
    program(root, "neuron-ls", f"assert a == ['--json-output'], a\n{body}")


def listed(count: int, cores: int = 2) -> str:
    return json.dumps([{"neuron_device": number, "nc_count": cores, "memory_size": 1} for number in range(count)])


@pytest.mark.parametrize("kind", [TRN1, TRN2], ids=lambda kind: str(kind.name))
def test_all_devices_are_present(root: Path, kind: InstanceType) -> None:
    neuron_ls(root, f"print({listed(16)!r})")
    node = make(root, kind)
    assert STEP.skip(node) is None
    STEP.apply(node)
    STEP.verify(node)
    assert said(node) == "Neuron driver 2.26.10.0: 16 devices"


def test_a_second_run_changes_nothing(root: Path) -> None:
    STEP.apply(make(root, TRN1))
    again = make(root, TRN1)
    STEP.apply(again)
    STEP.verify(again)
    assert again.host.changes == []


def test_the_output_of_the_drills_stand_in_is_accepted(root: Path) -> None:
    """The stand-in accepts and rejects the same arguments as the real program, and has its output format."""
    text = STAND_IN.read_text().replace(
        "#!/usr/bin/env bash", f"#!/bin/bash\nNEURON_STAND_IN_ROOT={root}\nPATH=/usr/bin:/bin"
    )
    file(root, "/opt/aws/neuron/bin/neuron-ls", text)
    (root / "opt/aws/neuron/bin/neuron-ls").chmod(0o755)
    node = make(root, TRN1)
    STEP.apply(node)
    STEP.verify(node)
    assert "unknown form" not in said(node)
    (root / "dev/neuron3").unlink()
    assert len(json.loads(node.host.run("neuron-ls", "-j"))) == 15
    with pytest.raises(Failure, match="unknown flag"):
        node.host.run("neuron-ls", "--jsn")


def test_a_missing_device_is_reported_with_numbers(root: Path) -> None:
    (root / "dev/neuron7").unlink()
    node = make(root, TRN1)
    failure = assert_fails(Code.ACCELERATORS, STEP.verify, node)
    assert failure.cause.startswith("ml.trn1.32xlarge has 16 Neuron devices, /dev has 15 (neuron0, 1, 2")
    reported(25, failure, "ml.trn1.32xlarge has 16 Neuron devices, /dev has 15")
    assert "7" not in failure.cause.split("neuron0")[1].split(", ")


def test_missing_devices_are_waited_for(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neuron_devices, "_SECONDS", 0.2)
    (root / "dev/neuron7").unlink()
    with pytest.raises(Failure, match=r"no 16 Neuron devices \(there are 15\) within 0.2 s"):
        STEP.apply(make(root, TRN1))


def test_late_devices_are_waited_for(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "dev/neuron7").unlink()

    def come(seconds: float) -> None:
        devices(root, [7])

    monkeypatch.setattr(waiting.time, "sleep", come)
    STEP.apply(make(root, TRN1))
    STEP.verify(make(root, TRN1))


def test_more_devices_than_the_type_has_are_reported(root: Path) -> None:
    devices(root, [16])
    with pytest.raises(Failure, match="has 16 Neuron devices, /dev has 17"):
        STEP.verify(make(root, TRN1))


@pytest.mark.parametrize(
    ("body", "reported"),
    [
        (f"print({listed(15)!r})", "has 16 Neuron devices, neuron-ls shows 15"),
        ("sys.exit('No neuron device found')", "No neuron device found"),
        (f"print({json.dumps([{'nc_count': n % 2} for n in range(16)])!r})", "devices with different numbers of cores"),
    ],
)
def test_devices_missing_in_neuron_ls_are_reported(root: Path, body: str, reported: str) -> None:
    neuron_ls(root, body)
    STEP.apply(make(root, TRN1))
    assert_fails(Code.ACCELERATORS, STEP.verify, make(root, TRN1), match=reported)


@pytest.mark.parametrize("reported", ["no json", '{"devices": 16}', "[1, 2]"])
def test_an_unknown_format_of_neuron_ls_is_only_logged(root: Path, reported: str) -> None:
    neuron_ls(root, f"print({reported!r})")
    node = make(root, TRN1)
    STEP.apply(node)
    STEP.verify(node)
    assert "unknown format, so only /dev was counted" in said(node)


def test_an_unloaded_driver_is_reported(tmp_path: Path) -> None:
    file(tmp_path, RESERVED, "")
    node = make(tmp_path, TRN1)
    STEP.apply(node)
    assert_fails(Code.NEURON_DRIVER, STEP.verify, node)


def test_a_driver_without_any_device_is_reported(tmp_path: Path) -> None:
    devices(tmp_path, [])
    with pytest.raises(Failure, match=r"no Neuron device: /dev has 0 \(neuron none\)"):
        STEP.verify(make(tmp_path, InstanceType("ml.trn9.xlarge", "neuron", None, None)))


def test_ports_reserved_by_others_stay_reserved(root: Path) -> None:
    file(root, RESERVED, "30000-30002,44000\n")
    STEP.apply(make(root, TRN1))
    assert (root / RESERVED.lstrip("/")).read_text() == "30000-30002,41000,44000,48620"
    assert (root / "etc/sysctl.d/90-llm-fleet-neuron.conf").read_text().splitlines()[1] == (
        "net.ipv4.ip_local_reserved_ports = 30000-30002,41000,44000,48620"
    )
    assert "* soft nofile 65535" in (root / "etc/security/limits.d/90-llm-fleet-neuron.conf").read_text()


def test_it_converges_after_a_kill_before_any_write(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, written = Host.write, list[str]()

    def dies(host: Host, path: str, text: str, **given: Any) -> bool:
        if path not in written:
            written.append(path)
            raise KeyboardInterrupt
        return real(host, path, text, **given)

    monkeypatch.setattr(Host, "write", dies)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            STEP.apply(make(root, TRN1))
    STEP.apply(make(root, TRN1))
    STEP.verify(make(root, TRN1))
    assert [Path(path).parent.name for path in written] == ["sysctl.d", "limits.d"]
    again = make(root, TRN1)
    STEP.apply(again)
    assert again.host.changes == []


def test_ports_that_are_no_longer_reserved_are_reported(root: Path) -> None:
    STEP.apply(make(root, TRN1))
    file(root, RESERVED, "44000\n")
    assert_fails(
        Code.ACCELERATOR_SETTINGS, STEP.verify, make(root, TRN1), match="does not reserve the ports 41000,48620"
    )


@pytest.mark.parametrize(
    ("path", "reported"),
    [
        ("/etc/sysctl.d/90-llm-fleet-neuron.conf", "does not reserve the ports 41000,44000,48620"),
        ("/etc/security/limits.d/90-llm-fleet-neuron.conf", "does not set the open file limit to 65535"),
    ],
)
def test_a_setting_that_a_reboot_would_lose_is_reported(root: Path, path: str, reported: str) -> None:
    STEP.apply(make(root, TRN1))
    (root / path.lstrip("/")).unlink()
    with pytest.raises(Failure, match=f"LFN97  {path} {reported}"):
        STEP.verify(make(root, TRN1))


@pytest.mark.parametrize("kind", [P5, M5], ids=lambda kind: str(kind.name))
def test_other_nodes_are_skipped(root: Path, kind: InstanceType) -> None:
    assert STEP.skip(make(root, kind)) == f"{kind.name} has no neuron devices"


def test_a_mixed_group_is_checked_without_a_number(root: Path) -> None:
    (root / "dev/neuron7").unlink()
    node = make(root, TRN1, TRN2, is_reported=False)
    assert STEP.skip(node) is None
    STEP.apply(node)
    STEP.verify(node)
