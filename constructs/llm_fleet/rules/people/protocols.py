"""What the rules ask of people's accounts and directories: read-only attributes, all plain values."""

from collections.abc import Mapping, Sequence
from typing import Protocol


class SlurmAccountLike(Protocol):
    """An account of Slurm with its limits; `None` for no limit."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def parent(self) -> str | None:
        """The account above it; `None` for Slurm's own `root`."""
        ...

    @property
    def fairshare(self) -> int | None:
        """Its shares beside those of its neighbours."""
        ...

    @property
    def grp_jobs(self) -> int | None:
        """Running jobs of the whole account."""
        ...

    @property
    def grp_submit_jobs(self) -> int | None:
        """Running and waiting jobs of the whole account."""
        ...

    @property
    def max_jobs(self) -> int | None:
        """Running jobs of each user."""
        ...

    @property
    def max_submit_jobs(self) -> int | None:
        """Running and waiting jobs of each user."""
        ...

    @property
    def max_wall_minutes(self) -> int | None:
        """How long a job may run."""
        ...

    @property
    def grp_tres(self) -> Mapping[str, int]:
        """What all running jobs of the account may have together."""
        ...

    @property
    def max_tres_per_job(self) -> Mapping[str, int]:
        """What one job may have."""
        ...


class DirectoryLike(Protocol):
    """An LDAP directory or Active Directory that knows people."""

    @property
    def kind(self) -> str:
        """`ldap` or `active_directory`."""
        ...

    @property
    def uris(self) -> Sequence[str]:
        """Where it is."""
        ...

    @property
    def start_tls(self) -> bool:
        """Whether a connection to an `ldap://` address is encrypted before anything is said."""
        ...

    @property
    def domain(self) -> str:
        """Its DNS name."""
        ...

    @property
    def base_dn(self) -> str:
        """Where search begins."""
        ...

    @property
    def bind_dn(self) -> str:
        """Who asks."""
        ...

    @property
    def certificate_on_nodes(self) -> str | None:
        """Path on the nodes of the authorities to believe."""
        ...

    @property
    def certificate_text(self) -> str | None:
        """The authorities themselves, in PEM."""
        ...

    @property
    def user_filter(self) -> str | None:
        """Who may come in."""
        ...

    @property
    def group_filter(self) -> str | None:
        """Which groups are looked at."""
        ...

    @property
    def maps_ids(self) -> bool:
        """Whether ids are worked out of SIDs."""
        ...

    @property
    def first_id(self) -> int:
        """The lowest id of its people."""
        ...

    @property
    def last_id(self) -> int:
        """The highest."""
        ...

    @property
    def sudo_groups(self) -> Sequence[str]:
        """Groups whose members may become root."""
        ...

    @property
    def ssh_public_key_attribute(self) -> str | None:
        """Attribute that holds people's SSH keys."""
        ...

    @property
    def home(self) -> str | None:
        """Where homes are, with `%u` for the login name."""
        ...

    @property
    def sssd_on_image(self) -> bool:
        """Whether the user says that the image carries SSSD."""
        ...

    @property
    def test_user(self) -> str | None:
        """A login name that every node looks up to prove that the directory answers."""
        ...
