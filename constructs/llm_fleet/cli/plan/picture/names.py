"""How the picture says numbers and names: short, and as AWS writes them."""

from collections.abc import Iterable

LONGEST = 42
"""Letters of a line of a card; what is longer is cut with an ellipsis."""
_TIMES = "\N{MULTIPLICATION SIGN}"


def short(text: str, most: int = LONGEST) -> str:
    """Return `text` within `most` letters, cut in its middle, since names differ at both ends."""
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def construct_name(path: str, logical_id: str) -> str:
    """Return what a construct is called: its path below the stack, without the ids that every construct has.

    `logical_id` is taken where the assembly tells no path.
    """
    parts = path.split("/")
    while len(parts) > 1 and parts[-1] in ("Resource", "Default"):
        parts.pop()
    return short("/".join(parts) or logical_id)


def count(amount: object, instance_type: str, minimum: object = None) -> str:
    """Return e.g. `16 x ml.trn1.32xlarge` or `0-4 x p5.48xlarge`, with the sign of multiplication."""
    most = str(amount)
    least = str(minimum) if minimum is not None else most
    return f"{most if least == most else f'{least}-{most}'} {_TIMES} {instance_type}"


def wrapped(words: Iterable[str], most: int = LONGEST) -> tuple[str, ...]:
    """Return `words` with commas, in lines of at most `most` letters."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + len(word) + 2 <= most:
            lines[-1] += f", {word}"
        else:
            lines.append(word)
    return tuple(lines)


def some(lines: Iterable[str], most: int) -> tuple[str, ...]:
    """Return at most `most` of `lines`, the last of which then says how many more there are."""
    known = list(lines)
    if len(known) <= most:
        return tuple(known)
    return (*known[: most - 1], f"and {len(known) - most + 1} more")
