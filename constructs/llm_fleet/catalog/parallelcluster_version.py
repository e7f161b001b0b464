"""Versions of ParallelCluster, with a way to say one that the catalog does not know yet."""

from llm_fleet.catalog.parallelcluster import DEFAULT_VERSION


class ParallelClusterVersion(str):
    """A version of ParallelCluster: a plain string.

    Constants stand for those whose rules are checked here; any of them may be given as a string. `of` is for another,
    whose configuration may differ from what the checks believe: errors may then be told only by the deployment.
    """

    __slots__ = ("unchecked",)

    unchecked: bool
    """Whether it passes the check against the catalog."""

    V3_16_0: "ParallelClusterVersion"
    V3_16_1: "ParallelClusterVersion"
    V3_16_2: "ParallelClusterVersion"
    V3_16_3: "ParallelClusterVersion"
    DEFAULT: "ParallelClusterVersion"
    """3.16.1: its schema and rules are those that the checks were compared with."""

    def __new__(cls, name: str) -> "ParallelClusterVersion":
        """Make the version called `name`, e.g. `3.16.1`, which is checked."""
        self = super().__new__(cls, name)
        self.unchecked = False
        return self

    @classmethod
    def of(cls, name: str) -> "ParallelClusterVersion":
        """Return the version called `name`, e.g. `3.17.0`, whatever the catalog knows of it.

        Raises `ValueError` when `name` is no version of ParallelCluster 3.
        """
        major, *rest = name.split(".")
        if major != "3" or len(rest) != 2 or not all(part.isascii() and part.isdigit() for part in rest):
            raise ValueError(f"a version of ParallelCluster is three numbers, the first 3, e.g. '3.17.0', got {name!r}")
        self = cls(name)
        self.unchecked = True
        return self


def _set_constants() -> None:
    """Give each constant that the class announces its value: `V3_16_1` is `3.16.1`."""
    for constant in ParallelClusterVersion.__annotations__:
        if constant.startswith("V"):
            setattr(ParallelClusterVersion, constant, ParallelClusterVersion(constant[1:].replace("_", ".")))
    ParallelClusterVersion.DEFAULT = ParallelClusterVersion(DEFAULT_VERSION)


_set_constants()
