"""An LDAP directory or Active Directory that nodes know people from."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, PrivateAttr

from llm_fleet.catalog.slurm import slurm_limit_facts
from llm_fleet.named_files.named_file import read_regular_file
from llm_fleet.rules.people.directory import CERTIFICATE
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import KeyArn, SecretArn

_IDS = slurm_limit_facts()


class DirectoryConfig(FleetModel):
    """An LDAP directory or Active Directory that nodes know people from, by SSSD, over TLS alone."""

    written_as: ClassVar[Mapping[str, str]] = {"certificate": "ca_certificate", "bind_secret_arn": "bind_secret"}
    other_words: ClassVar[Mapping[str, str]] = {
        "uri": "write `uris`, a list",
        "password": "write `bind_secret`: the ARN of a secret, never the password itself",
        "bind_password": "write `bind_secret`: the ARN of a secret, never the password itself",
        "ca": "write `ca_certificate`",
        "id_mapping": "write `map_ids`",
    }

    kind: Literal["ldap", "active_directory"] = "ldap"
    """`ldap` or `active_directory`, which has another schema. Default: `ldap`."""
    domain: str = Field(examples=["corp.example.com"])
    """Its DNS name."""
    uris: tuple[str, ...] = Field(examples=[["ldaps://ldap.corp.example.com"]])
    """Where it is: `ldaps://…`, or `ldap://…` with `start_tls`. The first that answers is asked."""
    base_dn: str = Field(examples=["dc=corp,dc=example,dc=com"])
    """Where search begins."""
    bind_dn: str = Field(examples=["cn=reader,dc=corp,dc=example,dc=com"])
    """The distinguished name of who asks; a reader of people and groups is enough."""
    bind_secret_arn: SecretArn = Field(
        alias="bind_secret", examples=["arn:aws:secretsmanager:us-west-2:111122223333:secret:reader-AbCdEf"]
    )
    """ARN of the secret whose text is that reader's password alone."""
    bind_secret_key: KeyArn | None = None
    """ARN of the KMS key that encrypts the secret. Default: `aws/secretsmanager`."""
    ca_certificate: str = Field(examples=["/etc/ssl/certs/ca-certificates.crt"])
    """The authority that its certificate is of: a PEM file from where this file lies, which goes to the nodes, or an
    absolute path in the image. ParallelCluster takes the latter only."""
    start_tls: bool = False
    """Whether TLS is started on an `ldap://` address first. Default: no; `ldaps://` has it anyhow."""
    own_map_ids: bool | None = Field(default=None, alias="map_ids")
    """Whether ids come from SIDs, not from `uidNumber`. Default: yes with Active Directory, else no."""
    first_id: int = _IDS.first_mapped_id
    """The lowest id of its people; those below do not come in. Default: 200000."""
    last_id: int = _IDS.last_mapped_id
    """The highest id of its people. Default: 2000200000."""
    user_filter: str | None = None
    """LDAP filter of who may log in. Default: everybody that the directory has."""
    group_filter: str | None = None
    """LDAP filter of the groups that nodes see. Default: all."""
    sudo_groups: tuple[str, ...] = ()
    """Groups whose members may become root without a password. Default: none."""
    ssh_public_key_attribute: str | None = Field(default=None, alias="ssh_keys")
    """Attribute with people's public SSH keys, e.g. `sshPublicKey`. Default: none."""
    home: str | None = None
    """Where homes are, with `%u` for the login name. Default: where the cluster has its homes."""
    test_user: str | None = None
    """A login name that every node must find before it is green. Default: none."""
    sssd_on_image: bool = False
    """Your word that the image carries SSSD. Default: no; it comes from the pinned `downloads`."""

    _directory: Path | None = PrivateAttr(default=None)

    def stand_in(self, directory: Path) -> None:
        """Take `directory`, that of the fleet file, for the one that relative paths begin at; for the loader."""
        self._directory = directory

    @property
    def folder(self) -> Path:
        """Where a relative `ca_certificate` begins, as seen from the process."""
        return self._directory or Path()

    @property
    def certificate_on_nodes(self) -> str | None:
        """The path of the authority on the nodes, where the image carries it."""
        return self.ca_certificate if self.ca_certificate.startswith("/") else None

    @property
    def certificate_text(self) -> str | None:
        """The authority in PEM, where it goes with the bundle; empty for a file that cannot be read."""
        if self.certificate_on_nodes is not None:
            return None
        if self._directory is None:
            return CERTIFICATE  # Nobody knows where to look, so there is nothing to say of it.
        try:
            path = self._directory / self.ca_certificate
            return read_regular_file(path, encoding="ascii")
        except (OSError, ValueError):
            return ""

    @property
    def maps_ids(self) -> bool:
        """`map_ids` with its default filled in."""
        return self.kind == "active_directory" if self.own_map_ids is None else self.own_map_ids
