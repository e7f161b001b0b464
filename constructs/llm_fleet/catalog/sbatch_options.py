"""The options of sbatch."""

from functools import cache

from llm_fleet.catalog.data_file import load


@cache
def sbatch_options() -> frozenset[str]:
    """Return their long names, without dashes."""
    return frozenset(load("sbatch_options")["options"])


def long_name(name: str) -> str:
    """Return the long name of an option such as `-N`; `name` itself when it is no short one that sbatch has."""
    return load("sbatch_options")["short"].get(name.removeprefix("-"), name) if len(name) == 2 else name


def remedy_elsewhere(name: str) -> str | None:
    """Return what to do about an option that belongs elsewhere, or `None` when nothing special is known of it."""
    return load("sbatch_options")["elsewhere"].get(name)
