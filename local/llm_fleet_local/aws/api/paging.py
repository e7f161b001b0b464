"""Pages of lists: a token is the key of the last returned item, so new items do not shift the pages.

Source: model botocore cloudformation NextToken
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from llm_fleet_local.aws.stacks.errors import invalid

_Item = TypeVar("_Item")
PAGE_SIZE = 100


def page(
    items: Sequence[_Item], token: str | None, *, key: Callable[[_Item], str], size: int = PAGE_SIZE
) -> tuple[list[_Item], str | None]:
    """Return one page and the token of the next, `None` at the end. Raises `RequestRejected` for an unknown token."""
    start = 0
    if token:
        start = next((index + 1 for index, item in enumerate(items) if key(item) == token), -1)
        if start < 0:
            raise invalid(f"NextToken {token} is not valid")
    chosen = list(items[start : start + size])
    return chosen, key(chosen[-1]) if start + size < len(items) else None


def with_token(result: dict[str, Any], token: str | None) -> dict[str, Any]:
    """Return `result` with the token of the next page, if there is one."""
    return {**result, "NextToken": token} if token else result
