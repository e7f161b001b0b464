"""What an environment asks of package indexes: a stack's pins, and the lines of a requirements file."""

import re
from collections.abc import Sequence
from pathlib import Path

from llm_fleet.catalog.neuron import neuron_releases
from llm_fleet.catalog.training_environments import neuron_index, pythons_of, training_stacks, vendor_packages
from llm_fleet.cli.failure import refuse
from llm_fleet.cli.mirror.one_index import Indexes
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.training.locked import plain

PYPI = "https://pypi.org/simple"
_SHA256 = re.compile(r"#sha256=[0-9a-f]{64}$")


def stack_lines(stack: str, release: str | None, python: str) -> list[str]:
    """Return the pins of `stack` in `release`, as requirements. Raises `FleetError`."""
    known = training_stacks().get(stack)
    if known is None:
        remedy = did_you_mean(stack, training_stacks(), otherwise=f"take one of {', '.join(training_stacks())}")
        refuse(Code.TRAINING_STACK, "there is no such stack of Neuron packages", remedy, value=stack)
    releases = [each.name for each in known.releases()]
    if release not in releases:
        remedy = f"take one of {', '.join(releases)}"
        refuse(Code.TRAINING_STACK_RELEASE, f"this release has no {stack}", remedy, value=release)
    if python not in pythons_of(release):
        remedy = f"take one of {', '.join(pythons_of(release))}"
        refuse(Code.TRAINING_PYTHON, f"Neuron {release} is not made for this Python", remedy, value=python)
    return [f"{name}=={version}" for name, version in known.pins(neuron_releases()[release]).items()]


def file_lines(path: Path) -> list[str]:
    """Return the requirements in the file at `path`. Raises `FleetError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        refuse(Code.LOCK_WHEEL, f"the requirements cannot be read: {reason}", "name another file", subject=str(path))
    lines = [re.sub(r"(^|\s)#.*$", "", line).strip() for line in text.splitlines()]
    found = [line for line in lines if line]
    for line in found:
        if line.startswith("-"):
            remedy = "write one requirement a line, and indexes as --index and --index-of"
            refuse(Code.LOCK_WHEEL, "an option in the requirements could lead to any index", remedy, value=line)
        if "://" in line and not _SHA256.search(line):
            remedy = "write `name @ https://…#sha256=…`, with the checksum that its vendor publishes"
            refuse(Code.LOCK_WHEEL, "an address without its checksum", remedy, value=line)
    return found


def with_stack(stack: Sequence[str], own: Sequence[str]) -> list[str]:
    """Return the pins of a stack, but where the user's own lines name another version of a package."""
    told = {plain(re.split(r"[\s\[=<>!~;@]", line, maxsplit=1)[0]) for line in own}
    return [*(line for line in stack if plain(line.partition("==")[0]) not in told), *own]


def indexes_of(indexes: Sequence[str], own: Sequence[Sequence[str]], *, neuron: bool) -> Indexes:
    """Return which index answers for what: Neuron's alone for its own packages, `own` ones for theirs, else `indexes`.

    `neuron`: whether packages of Neuron are asked for.
    """
    vendor = dict.fromkeys(vendor_packages(), neuron_index()) if neuron else {}
    return Indexes(own={**vendor, **{plain(name): url for name, url in own}}, others=tuple(indexes) or (PYPI,))
