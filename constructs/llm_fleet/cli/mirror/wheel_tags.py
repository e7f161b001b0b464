"""Which wheels run on a system: by the tags in their names (PEP 425, 600), with stable ABIs and older C libraries."""

from typing import TYPE_CHECKING

from llm_fleet.catalog.data_file import load
from llm_fleet.cli.failure import refuse
from llm_fleet.rules.codes import Code

if TYPE_CHECKING:
    from packaging.tags import Tag

_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
"""Debian's names of architectures, and those in the names of wheels."""
_LEGACY = {5: "manylinux1", 12: "manylinux2010", 17: "manylinux2014"}
"""By glibc 2.x."""


def platforms_of(system: str) -> list[str]:
    """Return the platforms whose wheels run on `system`, the best first. Raises `FleetError` for an unknown system."""
    name = system.rpartition("-")[0]
    glibc: str | None = load("downloads")["glibc"].get(name)
    if glibc is None:
        known = ", ".join(load("downloads")["glibc"])
        refuse(Code.LOCK_SYSTEM, "nobody here knows the C library of this system", f"take one of {known}", value=system)
    machine = machine_of(system)
    found: list[str] = []
    for minor in range(int(glibc.split(".")[1]), 4, -1):
        found.append(f"manylinux_2_{minor}_{machine}")
        if minor in _LEGACY:
            found.append(f"{_LEGACY[minor]}_{machine}")
    return [*found, f"linux_{machine}"]


def machine_of(system: str) -> str:
    """Return the processor architecture of `system`, e.g. `ubuntu-22.04-amd64`, as Python names it."""
    machine = system.rpartition("-")[2]
    return _MACHINES.get(machine, machine)


def tags_of(python: str, system: str) -> "list[Tag]":
    """Return the tags that CPython `python` takes on `system`, the best first. Raises `FleetError`."""
    try:
        from packaging.tags import compatible_tags, cpython_tags
    except ImportError:
        remedy = "run `pip install 'llm-fleet[mirror]'`, or `pip install packaging`"
        refuse(Code.LOCK_WHEEL, "wheels are told apart by `packaging`, which is not installed", remedy)
    major, minor = (int(part) for part in python.split(".")[:2])
    platforms = platforms_of(system)
    return [
        *cpython_tags(python_version=(major, minor), platforms=platforms),
        *compatible_tags(python_version=(major, minor), interpreter=f"cp{major}{minor}", platforms=platforms),
    ]
