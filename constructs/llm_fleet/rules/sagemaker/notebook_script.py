"""How long a lifecycle script may be."""

import re

from llm_fleet.rules.any_code import AnyCode
from llm_fleet.rules.problem import Problem

_TOKEN = re.compile(r"\$\{Token\[[^\]]*\]\}")
_TOKEN_BYTES = 128
"""What a value that is known only at deploy time is taken for: the name of a bucket has 63 at the most, an ARN of
what we name so about 120."""


def check_script_size(script: str, most: int, code: AnyCode) -> list[Problem]:
    """Return whether `script`, in base64, has more than `most` characters."""
    size = len(_TOKEN.sub("x" * _TOKEN_BYTES, script).encode())
    characters = -(-size // 3) * 4
    if characters <= most:
        return []
    return [
        Problem(
            code=code,
            message=f"the lifecycle script would have {characters} characters in base64",
            remedy="name fewer clusters and shorter pins: what is more goes into the bucket or a repository",
            path=("lifecycle_script",),
            value=characters,
            allowed=f"up to {most}",
        )
    ]
