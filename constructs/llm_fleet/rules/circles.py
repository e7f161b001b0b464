"""Finds what waits for itself."""

from collections.abc import Mapping, Sequence


def circle(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return names each of which needs the next, and the last the first; empty when there are none.

    Names that are no keys need nothing. Of several circles the first in the order of the keys is returned.
    """
    left = {name: [need for need in wanted if need in needs] for name, wanted in needs.items()}
    while free := [name for name, wanted in left.items() if not any(need in left for need in wanted)]:
        for name in free:
            del left[name]
    if not left:
        return []
    path = [next(iter(left))]
    while (following := next(need for need in left[path[-1]] if need in left)) not in path:
        path.append(following)
    return path[path.index(following) :]
