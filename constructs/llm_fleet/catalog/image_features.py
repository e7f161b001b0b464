"""Which features of HyperPod need an image of what age."""

from dataclasses import dataclass
from datetime import date

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFeature:
    """A feature that older images do not have."""

    what: str
    """In words."""
    since: date
    """The first day on which an image had it."""


def image_feature(key: str) -> ImageFeature:
    """Return a feature by our word for it: `slurm-config` or `accounting-database`."""
    told = load("image_features")[key]
    return ImageFeature(what=told["what"], since=date.fromisoformat(told["since"]))
