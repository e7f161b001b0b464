"""Creates fake devices on a node, as of its instance type: Neuron devices, and EFA interfaces in /sys.

Source: document https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/neuron-hardware/trn1-arch.html
(2026-11)
Source: assumption stand-in-programs-as-published
"""

from __future__ import annotations

from collections.abc import Collection

from llm_fleet.catalog.hyperpod import Instance
from llm_fleet_local.drill.nodes.node import Node

_CORES_AND_MEMORY = {"trn1": (2, 32), "trn1n": (2, 32), "trn2": (8, 96)}
"""NeuronCores and GiB of each device, by family; from the Neuron documentation's hardware pages."""
_SCRIPT = """
set -eu
mkdir -p /usr/local/lib/drill
rm -f /dev/neuron[0-9]* /usr/local/lib/drill/neuron-device /usr/local/lib/drill/neuron-driver
for number in {numbers}; do mknod -m 666 "/dev/neuron$number" c 1 3; done
if [ -n '{driver}' ]; then
  echo '{driver}' >/usr/local/lib/drill/neuron-driver
  echo '{cores} {memory}' >/usr/local/lib/drill/neuron-device
fi
if mountpoint -q /sys/class; then umount /sys/class; fi
if [ -n '{interfaces}' ]; then
  upper=/run/drill-sys-class
  mkdir -p $upper
  mountpoint -q $upper || mount -t tmpfs drill $upper
  rm -rf $upper/top $upper/work
  mkdir -p $upper/top $upper/work
  for name in {interfaces}; do
    mkdir -p "$upper/top/infiniband/$name/device"
    echo 0x1d0f >"$upper/top/infiniband/$name/device/vendor"
    echo 0xefa1 >"$upper/top/infiniband/$name/device/device"
  done
  mount -t overlay drill -o lowerdir=/sys/class,upperdir=$upper/top,workdir=$upper/work /sys/class
fi
"""

_PLACE = "/usr/local/lib/drill/devices.sh"
_UNIT = "/etc/systemd/system/drill-devices.service"
_UNIT_TEXT = f"""[Unit]
Description=Devices of the drill, created at the beginning of each boot
DefaultDependencies=no
Before=sysinit.target

[Service]
Type=oneshot
ExecStart=/bin/sh {_PLACE}
"""


def lay_out(
    node: Node, instance: Instance, *, driver: str, without: Collection[int] = (), interfaces: int | None = None
) -> None:
    """Create the devices of a healthy node of type `instance`, now and at the beginning of each boot.

    `driver`: version of the Neuron driver in the image. `without`: numbers of missing Neuron devices. `interfaces`:
    number of EFA interfaces, by default all. GPUs have no stand-in: instance types with GPUs are rejected.
    """
    if instance.accelerator == "gpu":
        raise ValueError(f"{instance.name}: GPUs have no stand-in")
    numbers = [str(number) for number in range(instance.accelerators) if number not in without]
    count = (instance.efa_interfaces or 0) if interfaces is None else interfaces
    cores, gib = _CORES_AND_MEMORY.get(instance.family, (0, 0))
    script = _SCRIPT.format(
        numbers=" ".join(numbers),
        driver=driver if instance.accelerator == "neuron" else "",
        cores=cores,
        memory=gib << 30,
        interfaces=" ".join(f"rdmap{16 + number}s27" for number in range(count)),
    )
    node.write(_PLACE, script)
    node.write(_UNIT, _UNIT_TEXT)
    node.run("sh", "-ec", f"ln -sfn {_UNIT} /etc/systemd/system/sysinit.target.wants/; sh {_PLACE}")
