"""Facts about the instance types that training jobs of SageMaker run on."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.ec2_instances import ec2_instance
from llm_fleet.catalog.smp_images import smddp_instances


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingInstance:
    """One instance type, under its `ml.` name."""

    name: str
    architecture: Literal["x86_64", "arm64"]
    accelerator: Literal["gpu", "neuron"] | None
    accelerators: int
    """GPUs or Neuron devices."""
    nvme_gb: int | None
    """Its local disks, which take the place of a volume; 0 without any, `None` where no source tells how large."""
    efa_interfaces: int
    successor: str | None
    """What to take instead of a type that is in the API's list only; `None` for one that is offered."""

    @property
    def family(self) -> str:
        """The family without prefix and size, e.g. `trn1`."""
        return self.name.split(".")[1]

    @property
    def processor(self) -> str:
        """What an image for it is made for: `gpu`, `neuron` or `cpu`."""
        return self.accelerator or "cpu"

    @property
    def smddp(self) -> bool:
        """Whether the SageMaker distributed data parallel library runs on it."""
        return self.name.removeprefix("ml.") in smddp_instances()

    @property
    def has_local_disks(self) -> bool:
        """Whether data lies on its local disks, which have keys of their own, and not on a volume."""
        return self.nvme_gb != 0


@cache
def training_instances() -> Mapping[str, TrainingInstance]:
    """Return every instance type that CreateTrainingJob takes, by its `ml.` name."""
    families: dict[str, list[str]] = load("training_job_limits")["instances"]
    names = [f"ml.{family}.{size}" for family, sizes in families.items() for size in sizes]
    return MappingProxyType({name: _instance(name) for name in names})


def _instance(name: str) -> TrainingInstance:
    facts = load("training_job")
    own: dict[str, Any] = facts["instances"].get(name, {})
    known = ec2_instance(name.removeprefix("ml."))
    return TrainingInstance(
        name=name,
        architecture=own.get("architecture") or (known.architecture if known else "x86_64"),
        accelerator=own.get("accelerator") or (known.accelerator if known else None),
        accelerators=own.get("accelerators") or (known.accelerators if known else 0),
        nvme_gb=known.instance_store_gb if known else own.get("nvme_gb"),
        efa_interfaces=known.efa_interfaces if known else 0,
        successor=facts["retired_instances"].get(name.split(".")[1]),
    )
