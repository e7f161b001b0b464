"""Buckets of the fleet that are named by their keys."""

from collections.abc import Collection, Iterator, Sequence

from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem


def check_bucket_keys(keys: Sequence[str], *, known: Collection[str]) -> Iterator[Problem]:
    """Return each of `keys` that is none of `storage.buckets`, or that comes twice, below `bucket_keys`."""
    for index, key in enumerate(keys):
        if key in keys[:index]:
            yield Problem(
                code=Code.CONTRADICTION,
                message="this bucket is named already",
                remedy="remove it here",
                path=("bucket_keys", index),
                value=key,
            )
        elif key not in known:
            yield Problem(
                code=Code.UNKNOWN_REFERENCE,
                message="the fleet has no bucket of this name",
                remedy=did_you_mean(key, known, otherwise=f"write `buckets: {{{key}: {{}}}}` below `storage`"),
                path=("bucket_keys", index),
                value=key,
                allowed=", ".join(sorted(known)),
            )
