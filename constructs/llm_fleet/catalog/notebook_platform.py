"""Names of platforms of notebook instances, with a way to say one that the catalog does not know yet."""

from typing import Self

from llm_fleet.catalog.sagemaker_notebooks import notebook_facts


class NotebookPlatform(str):
    """A platform of notebook instances: a plain string, that `NotebookPlatform.of` vouches for."""

    __slots__ = ()

    @classmethod
    def al2023(cls) -> Self:
        """Return Amazon Linux 2023 with JupyterLab 4, the default."""
        return cls(notebook_facts().default_platform)

    @classmethod
    def of(cls, name: str) -> Self:
        """Return a platform that is newer than this release of llm-fleet, e.g. `notebook-al2028-v1`.

        One that has ended is refused by whatever takes it (LF910).
        """
        return cls(name)
