"""A key at a place where ParallelCluster's configuration has none of the name."""

from llm_fleet.catalog.parallelcluster_schema import SchemaKey, places_of
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import nearest
from llm_fleet.rules.problem import PathPart, Problem


def unknown_key(name: object, section: SchemaKey, path: tuple[PathPart, ...]) -> Problem:
    """Return the problem that `section` has no key called `name`: what was meant, or where the key belongs."""
    text = str(name)
    here = section.name or "the configuration"
    return Problem(
        code=Code.PC_KEY_UNKNOWN,
        message=f"{here} of ParallelCluster has no key {text}",
        remedy=_remedy(text, section),
        path=(*path, text),
        value=text,
        allowed=", ".join(section.keys),
    )


def _remedy(name: str, section: SchemaKey) -> str:
    offer = nearest(name, section.keys)
    if offer is not None and offer.casefold() == name.casefold():
        return f"write {offer!r}"
    places = [place.replace("[]", "").rpartition("/")[0] for place in places_of(name)]
    where = " or ".join(dict.fromkeys(place or "the top" for place in places))
    if where and offer is None:
        return f"move it: it belongs below {where}"
    if where:
        return f"write {offer!r}, or move it: it belongs below {where}"
    return f"write {offer!r}" if offer else "leave it out, or write one of the allowed"
