"""Operating systems of ParallelCluster, with a way to say one that the catalog does not know yet."""


class Os(str):
    """An operating system of ParallelCluster (`Image/Os`): a plain string.

    Constants stand for those of the catalog; any of them may be given as a string. `of` is for one that AWS has brought
    out since, and is the only way past the check against the catalog.
    """

    __slots__ = ("unchecked",)

    unchecked: bool
    """Whether it passes the check against the catalog."""

    ALINUX2023: "Os"
    UBUNTU2204: "Os"
    UBUNTU2404: "Os"
    RHEL8: "Os"
    RHEL9: "Os"
    ROCKY8: "Os"
    """ParallelCluster publishes no image of it: give one of your own."""
    ROCKY9: "Os"
    """ParallelCluster publishes no image of it: give one of your own."""

    def __new__(cls, name: str) -> "Os":
        """Make the operating system called `name`, e.g. `alinux2023`, which is checked."""
        self = super().__new__(cls, name)
        self.unchecked = False
        return self

    @classmethod
    def of(cls, name: str) -> "Os":
        """Return the operating system called `name`, whatever the catalog knows of it.

        Raises `ValueError` when `name` is not lower-case letters and digits, as all of ParallelCluster's are.
        """
        if not (name.isascii() and name.isalnum() and name == name.lower()):
            raise ValueError(f"an operating system of ParallelCluster is lower-case letters and digits, got {name!r}")
        self = cls(name)
        self.unchecked = True
        return self


def _set_constants() -> None:
    """Give each constant that the class announces its value: `ALINUX2023` is `alinux2023`."""
    for constant in Os.__annotations__:
        if constant.isupper():
            setattr(Os, constant, Os(constant.lower()))


_set_constants()
