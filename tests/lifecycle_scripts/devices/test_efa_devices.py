"""The step efa_devices."""

import dataclasses
from pathlib import Path

import pytest

from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.manifest_parts import Fabric, InstanceType, Training, Variable
from llm_fleet_node.steps.efa_devices import STEP
from llm_fleet_node.steps.health_check import _expected as expected_of_health_check  # pyright: ignore[reportPrivateUsage]
from tests.lifecycle_scripts.convergence import assert_fails
from tests.lifecycle_scripts.step_node import M5, TRN1, file, make, program, said
from tools.synth_environment import ROOT

STAND_IN = ROOT / "local/llm_fleet_local/drill/stand_ins/programs/fi_info"


def interfaces(root: Path, *names: str, vendor: str = "0x1d0f", device: str = "0xefa1") -> None:
    for name in names:
        file(root, f"/sys/class/infiniband/{name}/device/vendor", f"{vendor}\n")
        file(root, f"/sys/class/infiniband/{name}/device/device", f"{device}\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    interfaces(tmp_path, *(f"rdmap{number}s27" for number in range(8)))
    return tmp_path


def fi_info(root: Path, count: int) -> None:
    body = f"""
assert a == ['-p', 'efa'], a
for n in range({count}):
    for kind in ('rdm', 'dgrm'):
        print(f'provider: efa\\n    fabric: efa\\n    domain: rdmap{{n}}s27-{{kind}}\\n    version: 122.0')
"""
    program(root, "fi_info", body)


def test_all_interfaces_are_present(root: Path) -> None:
    fi_info(root, 8)
    node = make(root, TRN1)
    assert STEP.skip(node) is None
    STEP.apply(node)
    STEP.verify(node)
    assert said(node) == "8 EFA interfaces, all usable by libfabric"


def test_a_second_run_changes_nothing(root: Path) -> None:
    STEP.apply(make(root, TRN1))
    again = make(root, TRN1)
    STEP.apply(again)
    STEP.verify(again)
    assert again.host.changes == []


def test_old_names_count_and_other_cards_do_not(tmp_path: Path) -> None:
    (tmp_path / "sys/class/infiniband/efa_0").mkdir(parents=True)
    interfaces(tmp_path, "mlx5_0", vendor="0x15b3", device="0x101e")
    interfaces(tmp_path, "ena_0", vendor="0x1d0f", device="0xec20")
    node = make(tmp_path, TRN1)
    STEP.apply(node)
    with pytest.raises(Failure) as failure:
        STEP.verify(node)
    assert failure.value.cause == "ml.trn1.32xlarge has 8 EFA interfaces, the kernel has 1 (efa_0)"
    assert failure.value.code is Code.EFA_DEVICES


def test_no_interface_at_all_is_reported(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="interfaces, the kernel has 0\n"):
        STEP.verify(make(tmp_path, TRN1))


def test_interfaces_that_libfabric_cannot_use_are_reported(root: Path) -> None:
    fi_info(root, 7)
    assert_fails(Code.EFA_DEVICES, STEP.verify, make(root, TRN1), match="libfabric can use 7")


def test_a_libfabric_that_finds_nothing_is_reported(root: Path) -> None:
    program(root, "fi_info", "sys.exit('fi_getinfo: -61 (No data available)')")
    with pytest.raises(Failure, match="libfabric can use 0"):
        STEP.verify(make(root, TRN1))


def test_the_output_of_the_drills_stand_in_is_accepted(root: Path) -> None:
    text = STAND_IN.read_text().replace("#!/usr/bin/env bash", f"#!/bin/bash\nFI_STAND_IN_ROOT={root}")
    file(root, "/opt/amazon/efa/bin/fi_info", text)
    (root / "opt/amazon/efa/bin/fi_info").chmod(0o755)
    node = make(root, TRN1)
    STEP.apply(node)
    STEP.verify(node)
    assert said(node) == "8 EFA interfaces, all usable by libfabric"
    assert not node.host.succeeds("fi_info", "-p", "tcp9")
    assert not node.host.succeeds("fi_info", "-x")


SMALL = InstanceType("ml.c6a.48xlarge", None, 0, 1)
OVER_EFA = Fabric("nccl-efa", ("workers",), 8, (Variable("FI_PROVIDER", "efa"),))


@pytest.mark.parametrize(
    ("fabrics", "matters"),
    [
        (None, False),
        ((), False),
        ((dataclasses.replace(OVER_EFA, variables=()),), False),
        ((dataclasses.replace(OVER_EFA, groups=("others",)),), False),
        ((OVER_EFA,), True),
        ((dataclasses.replace(OVER_EFA, groups=None),), True),
    ],
)
def test_a_missing_interface_of_a_small_type_fails_only_if_a_fabric_uses_efa(
    tmp_path: Path, fabrics: tuple[Fabric, ...] | None, matters: bool
) -> None:
    """It is not proven that HyperPod attaches it. Source: assumption hyperpod-attaches-efa-to-small-types."""
    node = make(tmp_path, SMALL)
    training = None if fabrics is None else Training("/fsx/llm-fleet", (), fabrics, None, None)
    node = dataclasses.replace(node, manifest=dataclasses.replace(node.manifest, training=training))
    STEP.apply(node)
    expected = "devices /sys/class/infiniband/* 1\n" in expected_of_health_check(node)
    assert expected is matters, "the node is not drained for it either"
    if matters:
        with pytest.raises(Failure, match=r"LFN98  ml\.c6a.48xlarge has 1 EFA interfaces, the kernel has 0"):
            STEP.verify(node)
        return
    STEP.verify(node)
    assert "the kernel has 0; no fabric of group workers uses EFA" in said(node)


def test_a_low_memory_lock_limit_is_reported(root: Path) -> None:
    STEP.apply(make(root, TRN1))
    file(root, "/etc/security/limits.d/90-llm-fleet-efa.conf", "* hard memlock 64\n")
    assert_fails(Code.ACCELERATOR_SETTINGS, STEP.verify, make(root, TRN1))


@pytest.mark.parametrize("kind", [M5, InstanceType("ml.new.xlarge", None, None, None)], ids=lambda kind: str(kind.name))
def test_other_nodes_are_skipped(tmp_path: Path, kind: InstanceType) -> None:
    assert STEP.skip(make(tmp_path, kind)) == f"{kind.name} has no EFA interfaces"


def test_a_mixed_group_is_skipped(tmp_path: Path) -> None:
    assert STEP.skip(make(tmp_path, TRN1, M5, is_reported=False)) == "the group, of mixed types, has no EFA interfaces"
