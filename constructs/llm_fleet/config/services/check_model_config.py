"""Where a model is, as only a fleet file tells it: one place, a bucket of the fleet's by name, a file on disk."""

from collections.abc import Iterator

from llm_fleet.config.check_shape_source import check_shape_source
from llm_fleet.config.fleet import Fleet
from llm_fleet.config.services.in_words import in_words
from llm_fleet.config.services.model import ServedModelConfig
from llm_fleet.config.services.own_bucket import own_bucket
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.model_mount import check_mount, check_token_key
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem

_PLACES = ("s3_uri", "bucket", "hub_id", "image_path")
_KEYS = tuple(ServedModelConfig.key_of(attribute) for attribute in _PLACES)


def check_model_config(model: ServedModelConfig, fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with keys that the construct does not have, by attribute names of `model`."""
    written = [attribute for attribute in _PLACES if getattr(model, attribute) is not None]
    if not written:
        yield Problem(
            code=Code.MISSING_KEY,
            message="nobody told where the model is",
            allowed=f"one of {', '.join(_KEYS)}",
            remedy="add it, e.g. `s3: s3://my-models/tanuki-8b`",
        )
        return
    for attribute in written[1:]:
        yield Problem(
            code=Code.CONTRADICTION,
            message=f"the model is in one place, and `{model.key_of(written[0])}` names another",
            allowed=f"one of {', '.join(_KEYS)}",
            remedy="keep one of them",
            path=(attribute,),
            value=getattr(model, attribute),
        )
    yield from _check_bucket(model, fleet)
    for problem in (
        *check_mount(model.source, key_arn=model.key_arn, cache_gib=model.cache_gib),
        *check_token_key(model.source, model.token_key_arn),
    ):
        yield in_words(problem)
    yield from check_shape_source(model)


def _check_bucket(model: ServedModelConfig, fleet: Fleet) -> Iterator[Problem]:
    names = list(fleet.storage.buckets)
    if model.bucket is not None and model.bucket not in names:
        yield Problem(
            code=Code.UNKNOWN_REFERENCE,
            message=f"there is no bucket {model.bucket!r} under `storage.buckets`",
            remedy=did_you_mean(model.bucket, names, otherwise="add it there, or write `s3: s3://<bucket>/<folder>`"),
            path=("bucket",),
            value=model.bucket,
            allowed=", ".join(names),
        )
    if model.prefix is not None and model.bucket is None:
        yield Problem(
            code=Code.CONTRADICTION,
            message="`prefix` is a folder of `bucket`, which is not told",
            remedy="write the folder at the end of `s3`, or name the `bucket`",
            path=("prefix",),
            value=model.prefix,
        )
    if model.key_arn is not None and own_bucket(model, fleet) is not None:
        yield Problem(
            code=Code.CONTRADICTION,
            message="the bucket is the fleet's own, which knows its key",
            remedy="remove `key`",
            path=("key_arn",),
            value=model.key_arn,
        )
