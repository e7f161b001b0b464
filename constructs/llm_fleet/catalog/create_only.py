"""Which properties of a resource cannot change in place."""

from dataclasses import dataclass

from llm_fleet.catalog.data_file import load

_EVERY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateOnly:
    """Properties by the names of CloudFormation, nested ones after a dot."""

    always: tuple[str, ...]
    """A change of one makes the resource anew."""
    maybe: tuple[str, ...]
    """A change of one may do so, by the value."""
    documented: tuple[str, ...] = ()
    """A change of one makes it anew by CloudFormation's user guide; the schema is silent."""


def create_only(resource_type: str) -> CreateOnly | None:
    """Return which properties of `resource_type` cannot change; `None` for a type that the catalog does not have."""
    found = load("create_only").get(resource_type)
    if found is None:
        return None
    always, maybe, documented = (tuple(found.get(key, ())) for key in ("always", "maybe", "documented"))
    return CreateOnly(always=always, maybe=maybe, documented=documented)


def touches(changed: str, create_only_path: str) -> bool:
    """Return whether the change at `changed`, e.g. `VpcConfig.Subnets[0]`, is at, within or around the other path."""
    parts = [part for part in changed.replace("[", ".[").split(".") if part]
    names = [_EVERY if part.startswith("[") else part for part in parts]
    other = create_only_path.split(".")
    return all(one == two for one, two in zip(names, other, strict=False))
