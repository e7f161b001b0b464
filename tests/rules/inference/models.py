"""Models as rules see them, for tests."""

from dataclasses import dataclass

from llm_fleet.rules.inference.model_shape import known_shape
from llm_fleet.rules.inference.protocols import ShapeLike
from llm_fleet.rules.inference.terms import ModelSource

_TANUKI = known_shape("tanuki-8b")


@dataclass(frozen=True, kw_only=True)
class AModel:
    """Any model, right or wrong."""

    source: ModelSource = ModelSource.S3
    location: str = "s3://my-models/tanuki-8b"
    revision: str | None = None
    token_secret_arn: str | None = None
    compiled: bool = True
    shape: ShapeLike | None = _TANUKI
    served_name: str | None = None


def named(name: str, *, compiled: bool = True) -> AModel:
    """Return the model of the catalog that `name` names."""
    return AModel(location=f"s3://my-models/{name}", shape=known_shape(name), compiled=compiled)
