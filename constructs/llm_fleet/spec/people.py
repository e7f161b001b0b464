"""People on nodes: users with the same ids everywhere, Slurm's accounts with their limits, and a directory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from llm_fleet.catalog.nodes import slurm_limit_facts
from llm_fleet.spec.model import OWN_KEY, WithPaths
from llm_fleet.spec.references import SECRET, Key, Secret
from llm_fleet.spec.spec import Spec
from llm_fleet.spec.values import PATH_OR_TEXT, Quantity, Several

_WALL = Quantity(noun="time", units={"min": 1, "h": 60, "days": 1440, "day": 1440}, example="2 days", usual="h")
WallMinutes = Annotated[int, _WALL]
"""Minutes, written as `30 min`, `24 h` or `2 days`."""


class ClusterUser(Spec):
    """A POSIX user with the same ids on every node. In a fleet file its key is the login name.

    The cluster checks all its users together. Files belong to ids, not to names: never change the ids of a user, and
    never give them to another one. Nodes make and change users; they remove none.
    """

    name: Annotated[str, Field(alias=OWN_KEY)]
    """Login name: 1 to 32 lower-case letters, digits, hyphens and underscores."""
    uid: Annotated[int, Field(examples=[2001])]
    """User id, 1001 or more."""
    gid: int | None = None
    """Id of the user's primary group. Default: the user id, a group of the user's own."""
    sudo: bool = False
    """Whether the user may become root without a password. Default: no."""
    ssh_public_keys: Annotated[Several[str], Field(alias="ssh_keys")] = ()
    """Public SSH keys, each the line of a `.pub` file. Default: none; people come by Session Manager."""
    slurm_account: Annotated[str | None, Field(alias="account")] = None
    """Slurm account that the user's jobs are booked to. Default: none of the user's own."""
    home: str | None = None
    """Absolute path of the home, on a shared file system if there is one. Default: where the cluster has its homes.

    That is a folder of the user's name on the file system mounted at /home, else in `<mount>/home` on OpenZFS, else on
    Lustre, else in each node's /home."""


class SlurmAccount(Spec):
    """An account that jobs are booked to, with its limits in Slurm's own words. In a fleet file its key is its name.

    The cluster checks all its accounts together. What is left out is no limit, and the controller takes such a limit
    back where there is one; accounts, users and limits that are not of this list are left as people made them. Limits
    bind every user of the cluster: without an account no one can then submit a job.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "limits": "write each limit as a key of the account, e.g. `max_jobs`",
        "users": "give each user their `account` under `users`",
        "max_nodes": "write `grp_tres: {node: 16}` for the account, or `max_tres_per_job: {node: 4}` for a job",
        "nodes": "write `grp_tres: {node: 16}`",
        "gpus": "write `grp_tres: {gres/gpu: 128}`",
        "max_time": "write `max_wall`",
    }

    name: Annotated[str, Field(alias=OWN_KEY)]
    """Lower-case letters, digits, dots, hyphens and underscores."""
    parent: str | None = None
    """The account above it, whose limits hold for it, too. Default: Slurm's own `root`."""
    fairshare: int | None = None
    """Shares beside those of its neighbours. Default: 1, Slurm's own."""
    grp_jobs: int | None = None
    """Jobs of the whole account that run at one time. Default: no limit."""
    grp_submit_jobs: int | None = None
    """Jobs of the whole account that run or wait at one time. Default: no limit."""
    grp_tres: Mapping[str, int] = {}
    """What its running jobs have together at most, e.g. `{node: 16, gres/gpu: 128}`. Default: no limit.

    Nodes, `cpu`, `billing`; `mem` in MiB."""
    max_jobs: int | None = None
    """Jobs of each user that run at one time. Default: no limit."""
    max_submit_jobs: int | None = None
    """Jobs of each user that run or wait at one time. Default: no limit."""
    max_tres_per_job: Mapping[str, int] = {}
    """What one job has at most, e.g. `{node: 4}`. Default: no limit."""
    max_wall_minutes: Annotated[WallMinutes | None, Field(alias="max_wall")] = None
    """How long a job may run, e.g. `2 days`. Default: no limit but the partition's."""


class Directory(WithPaths, Spec):
    """An LDAP directory or Active Directory that nodes know people from, by SSSD, over TLS alone.

    The cluster checks it. On ParallelCluster it becomes the section `DirectoryService`.
    """

    may_be_secret: ClassVar[bool] = True
    written_as: ClassVar[Mapping[str, str]] = {"bind_secret_arn": "bind_secret"}
    other_words: ClassVar[Mapping[str, str]] = {
        "uri": "write `uris`, a list",
        "password": "write `bind_secret`: the ARN of a secret, never the password itself",
        "bind_password": "write `bind_secret`: the ARN of a secret, never the password itself",
        "ca": "write `ca_certificate`",
        "id_mapping": "write `map_ids`",
    }

    kind: Literal["ldap", "active_directory"] = "ldap"
    """`ldap` or `active_directory`, which has another schema. Default: `ldap`."""
    domain: Annotated[str, Field(examples=["corp.example.com"])]
    """Its DNS name; SSSD's name of it, too."""
    uris: Annotated[Several[str], Field(examples=[["ldaps://ldap.corp.example.com"]])]
    """Where it is: `ldaps://…`, or `ldap://…` with `start_tls`. The first that answers is asked."""
    base_dn: Annotated[str, Field(examples=["dc=corp,dc=example,dc=com"])]
    """Where search begins."""
    bind_dn: Annotated[str, Field(examples=["cn=reader,dc=corp,dc=example,dc=com"])]
    """The distinguished name of who asks; a reader of people and groups is enough."""
    bind_secret: Annotated[
        Secret, Field(examples=["arn:aws:secretsmanager:us-west-2:111122223333:secret:reader-AbCdEf"])
    ]
    """ARN of the secret whose text is that reader's password alone. Each node reads it when it starts."""
    certificate: Annotated[
        str | Path, PATH_OR_TEXT, Field(alias="ca_certificate", examples=["/etc/ssl/certs/ca-certificates.crt"])
    ]
    """The authority that its certificate is of: a PEM file from where this file lies, which goes to the nodes, or an
    absolute path in the image; in Python, a `Path` is always a file beside the program. ParallelCluster takes the path
    in the image only."""
    start_tls: bool = False
    """Whether TLS is started on an `ldap://` address first. Default: no; `ldaps://` has it anyhow."""
    map_ids: bool | None = None
    """Whether ids come from SIDs, not from `uidNumber`. Default: yes with Active Directory, else no."""
    first_id: int = slurm_limit_facts().first_mapped_id
    """The lowest id of its people; those below do not come in. Default: 200000, SSSD's own."""
    last_id: int = slurm_limit_facts().last_mapped_id
    """The highest id of its people. Default: 2000200000, SSSD's own."""
    user_filter: str | None = None
    """LDAP filter of who may log in. Default: everybody that the directory has."""
    group_filter: str | None = None
    """LDAP filter of the groups that nodes see. Default: all."""
    sudo_groups: Several[str] = ()
    """Groups whose members may become root without a password. Default: none."""
    ssh_public_key_attribute: Annotated[str | None, Field(alias="ssh_keys")] = None
    """Attribute with people's public SSH keys, e.g. `sshPublicKey`. Default: none; people come by Session Manager."""
    home: str | None = None
    """Where homes are, with `%u` for the login name. Default: where the cluster has its homes."""
    test_user: str | None = None
    """A login name that every node must find before it is green. Default: none."""
    sssd_on_image: bool = False
    """Your word that the image carries SSSD. Default: no; it comes from the pinned `downloads`."""
    bind_secret_key: Key | None = None
    """ARN of the KMS key that encrypts the secret, where that is named by its ARN. Default: `aws/secretsmanager`."""

    @property
    def bind_secret_arn(self) -> str:
        """The ARN of `bind_secret`."""
        return SECRET.name_of(self.bind_secret)

    @property
    def certificate_on_nodes(self) -> str | None:
        """The path of the authority on the nodes, where the image carries it."""
        return self.certificate if isinstance(self.certificate, str) and self.certificate.startswith("/") else None

    @property
    def maps_ids(self) -> bool:
        """`map_ids` with its default filled in."""
        return self.kind == "active_directory" if self.map_ids is None else self.map_ids
