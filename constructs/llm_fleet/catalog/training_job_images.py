"""Facts about the container images that SageMaker trains in."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.model_servers import image_account, image_regions
from llm_fleet.catalog.regions import regions


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingImageVersion:
    """One published image, in a form for each kind of processor."""

    repository: str
    pytorch: str
    """Version of PyTorch in it."""
    tags: Mapping[str, str]
    """By processor: `gpu`, `cpu` or `neuron`."""
    until: str | None
    """The ISO date until which AWS patches it; `None` where the lists name none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingImageFamily:
    """One line of AWS's Deep Learning Containers for training."""

    name: str
    """As the fleet file writes it, e.g. `pytorch`."""
    title: str
    maker: str
    """How Python writes it, e.g. `TrainingImage.pytorch`."""
    default: str
    """The version that is taken when none is told."""
    accounts: str
    """The table of accounts by region that its registry is in."""
    only_regions: tuple[str, ...] | None
    """Where it is offered; `None`: wherever the table has an account."""
    instances: tuple[str, ...] | None
    """Instance families that it runs on; `None`: all with a processor that it has a tag for."""
    versions: Mapping[str, TrainingImageVersion]
    """Newest first."""
    retired: tuple[str, ...]
    """Versions that were, and are not offered any more."""

    @property
    def regions(self) -> tuple[str, ...]:
        """Where it is offered."""
        return image_regions(self.accounts) if self.only_regions is None else self.only_regions

    def uri(self, version: str, processor: str, region: str) -> str:
        """Return the address of `version` for `processor` in `region`; a `KeyError` where there is none."""
        found = self.versions[version]
        suffix = "amazonaws.com.cn" if regions()[region].partition == "aws-cn" else "amazonaws.com"
        account = image_account(self.accounts, region)
        return f"{account}.dkr.ecr.{region}.{suffix}/{found.repository}:{found.tags[processor]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedImage:
    """Images that AWS patches no more, by what their addresses have in common."""

    pattern: re.Pattern[str]
    what: str
    successor: str
    """What to do instead, as a remedy."""


@cache
def training_image_families() -> Mapping[str, TrainingImageFamily]:
    """Return the lines of images by name."""
    families: dict[str, dict[str, Any]] = load("training_job_images")["families"]
    return MappingProxyType({name: _family(name, facts) for name, facts in families.items()})


@cache
def ended_images() -> tuple[EndedImage, ...]:
    """Return what ended images are known by."""
    return tuple(
        EndedImage(pattern=re.compile(each["pattern"]), what=each["what"], successor=each["successor"])
        for each in load("training_job_images")["ended"]
    )


def _family(name: str, facts: dict[str, Any]) -> TrainingImageFamily:
    only, instances = facts["regions"], facts["instances"]
    return TrainingImageFamily(
        name=name,
        title=facts["title"],
        maker=facts["maker"],
        default=facts["default"],
        accounts=facts["accounts"],
        only_regions=None if only is None else tuple(only),
        instances=None if instances is None else tuple(instances),
        versions=MappingProxyType({each: TrainingImageVersion(**row) for each, row in facts["versions"].items()}),
        retired=tuple(facts["retired"]),
    )
