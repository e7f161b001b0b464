"""Keys behind a model, of its bucket or of the Hub's token, and how much of it hosts keep."""

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
    key = check_key(key_arn, "key_arn", used=source is ModelSource.S3, owner="a bucket")
    return [*key, *_cache(source, cache_gib)]


def check_token_key(source: ModelSource, arn: str | None) -> list[Problem]:
    """Return what is wrong with the key of the secret with the Hub's token; `None` is right."""
    return check_key(arn, "token_key_arn", used=source is ModelSource.HUB, owner="the secret of the Hub's token")


def check_key(arn: str | None, path: str, *, used: bool, owner: str) -> list[Problem]:
    """Return a problem at `path` when `arn` is no key's, or `owner`, whose key it would be, is not there (`used`)."""
    if arn is None or is_unresolved(arn) or (used and _KEY.fullmatch(arn)):
        return []
    return [
        Problem(
            code=Code.MODEL_KEY,
            message="this is no ARN of a KMS key" if used else f"only {owner} has a key",
            remedy="write the key's own ARN; policies do not know aliases" if used else f"leave `{path}` out",
            path=(path,),
            value=arn,
            allowed="arn:aws:kms:<region>:<account>:key/<id>" if used else "",
        )
    ]


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
