"""Shows a policy to people: every statement with its reason."""

from collections.abc import Iterable

from llm_fleet.iam.permission import Permission


def describe(permissions: Iterable[Permission]) -> str:
    """Return `permissions` as a Markdown table: statement, what it lets nodes do, on what, and why."""
    lines = ["| statement | actions | on | why |", "|---|---|---|---|"]
    for permission in permissions:
        limits = [
            f"only if {key} is {'there' if operator == 'Null' else _shown(value)}"
            for operator, keys in permission.conditions.items()
            for key, value in keys.items()
        ]
        cells = (
            f"`{permission.sid}`",
            "<br>".join(f"`{action}`" for action in permission.actions),
            "<br>".join([*(f"`{resource}`" for resource in permission.resources), *limits]),
            permission.reason,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _shown(value: object) -> str:
    if isinstance(value, str):
        return f"`{value}`"
    return " or ".join(map(_shown, value)) if isinstance(value, list | tuple) else str(value)  # pyright: ignore[reportUnknownArgumentType]
