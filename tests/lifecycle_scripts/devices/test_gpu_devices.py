"""The step gpu_devices."""

from pathlib import Path

import pytest

from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.manifest_parts import InstanceType
from llm_fleet_node.steps.gpu_devices import STEP
from tests.lifecycle_scripts.convergence import assert_fails
from tests.lifecycle_scripts.step_node import M5, P5, TRN1, file, make, program

UNIT = "/usr/lib/systemd/system/nvidia-persistenced.service"
SYSTEMCTL = """
running, enabled = root + '/running', root + '/enabled'
if a == ['is-active', '--quiet', 'nvidia-persistenced.service']:
    sys.exit(not os.path.exists(running))
elif a == ['is-enabled', '--quiet', 'nvidia-persistenced.service']:
    sys.exit(not os.path.exists(enabled))
elif a == ['enable', '--quiet', 'nvidia-persistenced.service']:
    open(enabled, 'w').close()
elif a == ['start', 'nvidia-persistenced.service']:
    open(running, 'w').close()
else:
    sys.exit(f'unexpected {a}')
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number in range(8):
        (tmp_path / f"proc/driver/nvidia/gpus/0000:{number:02x}:00.0").mkdir(parents=True)
    smi(tmp_path, 8)
    return tmp_path


def smi(root: Path, count: int) -> None:
    program(
        root,
        "nvidia-smi",
        f"assert a == ['-L'], a\nfor n in range({count}): print(f'GPU {{n}}: NVIDIA H100 (UUID: GPU-{{n}})')",
    )


def test_all_gpus_are_present(root: Path) -> None:
    node = make(root, P5)
    assert STEP.skip(node) is None
    STEP.apply(node)
    STEP.verify(node)
    assert node.host.changes == []


def test_the_persistence_daemon_is_started_once(root: Path) -> None:
    file(root, UNIT, "")
    program(root, "systemctl", SYSTEMCTL)
    assert_fails(Code.ACCELERATOR_SETTINGS, STEP.verify, make(root, P5))
    node = make(root, P5)
    STEP.apply(node)
    assert node.host.changes == ["enabled nvidia-persistenced.service", "started nvidia-persistenced.service"]
    again = make(root, P5)
    STEP.apply(again)
    STEP.verify(again)
    assert again.host.changes == []


def test_a_gpu_that_the_driver_lacks_is_reported(root: Path) -> None:
    (root / "proc/driver/nvidia/gpus/0000:03:00.0").rmdir()
    assert_fails(
        Code.ACCELERATORS, STEP.verify, make(root, P5), match=r"ml\.p5\.48xlarge has 8 GPUs, but the driver has 7"
    )


def test_a_gpu_that_fell_off_the_bus_is_reported_with_kernel_messages(root: Path) -> None:
    smi(root, 7)
    program(
        root, "dmesg", "assert a == []\nprint('[ 12.3] NVRM: Xid (PCI:0000:03:00): 79, GPU has fallen off the bus.')"
    )
    with pytest.raises(Failure) as failure:
        STEP.verify(make(root, P5))
    assert failure.value.cause == (
        "ml.p5.48xlarge has 8 GPUs, but nvidia-smi shows 7; kernel messages: "
        "NVRM: Xid (PCI:0000:03:00): 79, GPU has fallen off the bus."
    )


def test_an_nvidia_smi_that_fails_is_reported(root: Path) -> None:
    program(root, "nvidia-smi", "sys.exit('Failed to initialize NVML')")
    with pytest.raises(Failure, match="has 8 GPUs, but nvidia-smi shows 0"):
        STEP.verify(make(root, P5))


def test_without_nvidia_smi_the_driver_is_used(root: Path) -> None:
    (root / "usr/bin/nvidia-smi").unlink()
    STEP.verify(make(root, P5))


def test_an_unloaded_driver_is_reported(tmp_path: Path) -> None:
    assert_fails(Code.ACCELERATORS, STEP.verify, make(tmp_path, P5), match="the NVIDIA driver is not loaded")


def test_a_type_with_an_unknown_number_needs_at_least_one(tmp_path: Path) -> None:
    (tmp_path / "proc/driver/nvidia").mkdir(parents=True)
    kind = InstanceType("ml.p9.xlarge", "gpu", None, None)
    with pytest.raises(Failure, match="has some GPUs, but the driver has 0"):
        STEP.verify(make(tmp_path, kind))
    (tmp_path / "proc/driver/nvidia/gpus/0000:01:00.0").mkdir(parents=True)
    STEP.verify(make(tmp_path, kind))


@pytest.mark.parametrize("kind", [TRN1, M5], ids=lambda kind: str(kind.name))
def test_other_nodes_are_skipped(tmp_path: Path, kind: InstanceType) -> None:
    assert STEP.skip(make(tmp_path, kind)) == f"{kind.name} has no gpu devices"
