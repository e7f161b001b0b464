"""Facts about the SageMaker model parallel library v2 (SMP): what its configuration file may hold."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.limit import Limit


@dataclass(frozen=True, slots=True, kw_only=True)
class SmpKey:
    """One key of `smp_config.json`."""

    name: str
    type: Literal["integer", "boolean"]
    default: int | bool | None
    """What the library takes where the key is left out; `None` where the guide names none."""
    minimum: int | None = None
    up_to_world_size: bool = False
    """Whether its largest value is the number of processes."""
    needs_transform: bool = False
    """Whether above 1 it only acts on a model that the script has passed through `torch.sagemaker.transform`."""

    def limit(self, world_size: int | None) -> Limit:
        """Return the bounds of the key in a job of `world_size` processes; `None` where that is not known."""
        return Limit(minimum=self.minimum, maximum=world_size if self.up_to_world_size else None)


@cache
def smp_keys() -> Mapping[str, SmpKey]:
    """Return every key of the library's configuration by name, in its reference's order."""
    return MappingProxyType({name: SmpKey(name=name, **facts) for name, facts in load("smp_v2")["keys"].items()})


@cache
def smp_aliases() -> Mapping[str, str]:
    """Return today's names of keys by those of the library's announcement."""
    return MappingProxyType(dict(load("smp_v2")["aliases"]))
