"""An LDAP directory or Active Directory that nodes know people from."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from aws_cdk import aws_secretsmanager as secretsmanager

from llm_fleet.catalog.slurm import slurm_limit_facts
from llm_fleet.named_files.regular_file import read_regular_file

_IDS = slurm_limit_facts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """An LDAP directory or Active Directory that nodes know people from, by SSSD.

    Nothing is checked here: the cluster does. On ParallelCluster it becomes the section `DirectoryService`. It is
    asked over TLS alone, by a reader whose password each node fetches from Secrets Manager when it starts.
    """

    domain: str
    """Its DNS name, e.g. `corp.example.com`; SSSD's name of it, too."""
    uris: Sequence[str]
    """Where it is, e.g. `ldaps://ldap.corp.example.com`; the first that answers is asked."""
    base_dn: str
    """Where search begins, e.g. `dc=corp,dc=example,dc=com`."""
    bind_dn: str
    """The reader's distinguished name. It needs no right but to read people and groups."""
    bind_secret: secretsmanager.ISecret | secretsmanager.Secret
    """Its text is the reader's password alone."""
    certificate: str | Path
    """The authority that the directory's certificate is of: a PEM file beside the program, which goes with the bundle;
    or, as text that begins with a slash, the path of one that the image carries. ParallelCluster takes the latter only.
    """
    kind: Literal["ldap", "active_directory"] = "ldap"
    """`active_directory`: its schema, and ids that SSSD works out of SIDs, alike on every node."""
    start_tls: bool = False
    """Whether TLS is started on an `ldap://` address before anything is said. Default: no; `ldaps://` has it anyhow."""
    map_ids: bool | None = None
    """Whether ids come from SIDs, not from `uidNumber`. Default: yes with Active Directory, else no."""
    first_id: int = _IDS.first_mapped_id
    """The lowest id of its people; others do not come in. Default: 200000, SSSD's own."""
    last_id: int = _IDS.last_mapped_id
    """The highest. Default: 2000200000, SSSD's own."""
    user_filter: str | None = None
    """LDAP filter of who may log in. Default: everybody that the directory has."""
    group_filter: str | None = None
    """LDAP filter of the groups that nodes see. Default: all."""
    sudo_groups: Sequence[str] = ()
    """Groups whose members may become root without a password. Default: none."""
    ssh_public_key_attribute: str | None = None
    """Attribute with people's public SSH keys. Default: none; people come by Session Manager."""
    home: str | None = None
    """Where homes are, with `%u` for the login name. Default: a folder of that name where the cluster has its homes."""
    test_user: str | None = None
    """A login name that every node looks up before it is green. Default: only that SSSD is online is looked at."""
    sssd_on_image: bool = False
    """Your word that the image carries SSSD. Default: no; it is installed from the pinned downloads."""

    @property
    def certificate_on_nodes(self) -> str | None:
        """The path of the authority on the nodes, where the image carries it."""
        return self.certificate if isinstance(self.certificate, str) and self.certificate.startswith("/") else None

    @property
    def certificate_text(self) -> str | None:
        """The authority in PEM, where it goes with the bundle; empty for a file that cannot be read."""
        if self.certificate_on_nodes is not None:
            return None
        try:
            return read_regular_file(Path(self.certificate), encoding="ascii")
        except (OSError, ValueError):
            return ""

    @property
    def maps_ids(self) -> bool:
        """`map_ids` with its default filled in."""
        return self.kind == "active_directory" if self.map_ids is None else self.map_ids
