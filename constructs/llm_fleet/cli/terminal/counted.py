"""Says how many there are of something."""


def counted(number: int, noun: str) -> str:
    """Return e.g. `1 node`, `4 nodes`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
