"""Facts about the container images that endpoints run."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointImageFacts:
    """One published image."""

    kind: str
    """As users name it, e.g. `vllm`."""
    accelerator: str
    """What it computes on: `cpu`, `gpu` or `neuron`."""
    version: str
    """Of vLLM, TGI or transformers."""
    repository: str
    tag: str
    regions: str
    """Which list of regions has it."""
    cuda: str | None = None
    """The CUDA that it was built for; `None` without GPUs."""
    neuron_sdk: str | None = None
    """The Neuron SDK in it; `None` without Neuron."""
    families: tuple[str, ...] = ()
    """The instance families that it runs on; empty for all of its accelerator."""
    warning: str | None = None
    """What was reported of it; `None` where nothing was."""


def image_kinds() -> tuple[str, ...]:
    """Return what there are images of, the usual one first."""
    return tuple(load("endpoint_images")["images"])


def image_title(kind: str) -> str:
    """Return what people call the images of `kind`, with an article."""
    return str(load("endpoint_images")["images"][kind]["title"])


def default_image_kind(accelerator: str) -> str:
    """Return what serves on `accelerator` (`cpu`, `gpu` or `neuron`) unless told otherwise."""
    return str(load("endpoint_images")["default"][accelerator])


@cache
def endpoint_images(kind: str, accelerator: str) -> Mapping[str, EndpointImageFacts]:
    """Return the images of `kind` for `accelerator` by version, newest first; empty where there are none."""
    listed: list[dict[str, Any]] = load("endpoint_images")["images"][kind].get(accelerator, [])
    return {facts["version"]: _facts(kind, accelerator, dict(facts)) for facts in listed}


def _facts(kind: str, accelerator: str, facts: dict[str, Any]) -> EndpointImageFacts:
    families: list[str] = facts.pop("families", [])
    return EndpointImageFacts(kind=kind, accelerator=accelerator, families=tuple(families), **facts)


def retired_image(kind: str, version: str) -> str | None:
    """Return the version that came after one that is no longer supported; `None` for one that is not retired."""
    successor: str | None = load("endpoint_images")["retired"][kind].get(version)
    return successor


def retired_tarball(uri: str) -> str | None:
    """Return the version of transformers that the archive `uri` was made for, where no image has it any more."""
    tarballs: dict[str, str] = load("endpoint_images")["tarballs"]
    return next((version for start, version in tarballs.items() if uri.startswith(start)), None)


def image_regions_of(facts: EndpointImageFacts) -> tuple[str, ...]:
    """Return the regions whose registries have the image."""
    return tuple(load("endpoint_images")["regions"][facts.regions])


def image_account_of(region: str) -> str:
    """Return the account whose registry has AWS's images in `region`."""
    facts = load("endpoint_images")
    return str(facts["other_accounts"].get(region, facts["account"]))
