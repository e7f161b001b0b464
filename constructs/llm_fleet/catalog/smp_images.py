"""Facts about the container images of the SageMaker model parallel library v2 (SMP)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class SmpImage:
    """One published image."""

    pytorch: str
    """Version of PyTorch in it, e.g. `2.5.1`; images are known by it."""
    tag: str
    library: str
    """Version of SMP in it."""
    smddp: str
    """Version of the SageMaker distributed data parallel library in it."""
    transformers: str | None
    """Version of Hugging Face Transformers in it; `None` where the guide names none."""
    enroot: bool
    """Whether AWS offers it as an Enroot file too, which saves the import."""

    def uri(self, region: str) -> str:
        """Return the image's address in the registry of `region`."""
        facts = load("smp_images")
        repository: str = facts["repository"].format(account=facts["account"], region=region)
        return f"{repository}:{self.tag}"

    def enroot_url(self, region: str) -> str | None:
        """Return where AWS offers the image as an Enroot file in `region`; `None` where it does not."""
        address: str = load("smp_images")["enroot"]
        return address.format(region=region, tag=self.tag) if self.enroot else None


@cache
def smp_images() -> Mapping[str, SmpImage]:
    """Return every image by its version of PyTorch, newest first."""
    versions: dict[str, dict[str, Any]] = load("smp_images")["versions"]
    return MappingProxyType({name: SmpImage(pytorch=name, **facts) for name, facts in versions.items()})


def smp_versions() -> tuple[str, ...]:
    """Return the versions of PyTorch that there are images with, newest first."""
    return tuple(smp_images())


def smp_regions() -> tuple[str, ...]:
    """Return the regions whose registries have the images."""
    return tuple(load("smp_images")["regions"])


def documented_families() -> tuple[str, ...]:
    """Return the instance families that AWS's documents name for SMP v2, e.g. `p4d`."""
    return tuple(load("smp_images")["families"]["documented"])


def derived_families() -> tuple[str, ...]:
    """Return the families whose GPUs the images have kernels for. assumption: smp-v2-on-derived-families"""
    return tuple(load("smp_images")["families"]["derived"])


def smddp_instances() -> tuple[str, ...]:
    """Return the instance types, without `ml.`, on which the library SMDDP runs its collectives."""
    return tuple(load("smp_images")["smddp_instances"])
