"""What the hosts of a service need to know of a model in S3: the key of its bucket, and how much of it they keep."""

import re
from collections.abc import Iterator

from llm_fleet.catalog.limit import Limit
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.terms import ModelSource
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved

_KEY = re.compile(r"arn:aws[\w-]*:kms:[\w-]+:\d{12}:key/[\w-]+")


def check_mount(source: ModelSource, *, key_arn: str | None, cache_gib: int | None) -> list[Problem]:
    """Return what is wrong with the key of the model's bucket and the cache on its hosts; `None` for both is right."""
    return [*_key(source, key_arn), *_cache(source, cache_gib)]


def _key(source: ModelSource, arn: str | None) -> Iterator[Problem]:
    if arn is None or is_unresolved(arn) or (source is ModelSource.S3 and _KEY.fullmatch(arn)):
        return
    elsewhere = source is not ModelSource.S3
    yield Problem(
        code=Code.MODEL_KEY,
        message="only a bucket has a key" if elsewhere else "this is no ARN of a KMS key",
        remedy="leave `key_arn` out" if elsewhere else "write the key's own ARN; policies do not know aliases",
        path=("key_arn",),
        value=arn,
        allowed="" if elsewhere else "arn:aws:kms:<region>:<account>:key/<id>",
    )


def _cache(source: ModelSource, size: int | None) -> Iterator[Problem]:
    if size is None or is_unresolved(size):
        return
    if source is not ModelSource.S3:
        yield Problem(
            code=Code.MODEL_CACHE,
            message="only a model in S3 is cached on its hosts",
            remedy="leave `cache_gib` out",
            path=("cache_gib",),
            value=size,
        )
        return
    remedy = "write 0 for no cache, or leave it out for one of the model's size"
    yield from check_number(size, Limit(minimum=0), Code.MODEL_CACHE, "cache_gib", what="the cache", remedy=remedy)
