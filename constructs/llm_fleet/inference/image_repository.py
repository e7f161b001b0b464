"""Tells from an image's name the repository in ECR that it is pulled from."""

import re

from llm_fleet.rules.tokens import is_unresolved

_PRIVATE = re.compile(
    r"(?P<account>\d{12})\.dkr[.-]ecr(?:-fips)?\.(?P<region>[a-z0-9-]+)\.[a-z0-9.-]+/(?P<repository>[^:@]+)(?:[:@].*)?"
)


def repository_arn(image: str, *, partition: str) -> str | None:
    """Return the ARN of the private repository of ECR that `image` is in.

    `None` for an image elsewhere, public.ecr.aws included, which is pulled without credentials, and for a token, which
    tells nothing at synth.
    """
    found = None if is_unresolved(image) else _PRIVATE.fullmatch(image)
    if found is None:
        return None
    return f"arn:{partition}:ecr:{found['region']}:{found['account']}:repository/{found['repository']}"
