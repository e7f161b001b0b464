"""What the rules ask of a directory: read-only attributes, all plain values."""

from collections.abc import Sequence
from typing import Protocol


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
