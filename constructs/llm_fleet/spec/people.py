"""Users of nodes: POSIX users with the same ids on every node, Slurm accounts with their limits, and LDAP
directories."""

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
    never give them to another user. Nodes create and change users, but never remove them.
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
    """Public SSH keys, each the line of a `.pub` file. Default: none; users connect with Session Manager."""
    slurm_account: Annotated[str | None, Field(alias="account")] = None
    """Slurm account that the user's jobs are charged to. Default: none."""
    home: str | None = None
    """Absolute path of the home directory, on a shared file system if there is one. Default: in the cluster's folder
    for home directories.

    That is the file system mounted at /home, otherwise `<mount>/home` on OpenZFS, otherwise `<mount>/home` on Lustre,
    otherwise each node's own /home."""


class SlurmAccount(Spec):
    """A Slurm account with its limits, under Slurm's own names. In a fleet file its key is its name.

    The cluster checks all its accounts together. A limit that is left out is removed on the controller. Accounts, users
    and limits that are not in this list are not changed. Limits are enforced for every user of the cluster, so a user
    without an account cannot submit jobs.
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
    """Parent account, whose limits apply as well. Default: Slurm's own `root`."""
    fairshare: int | None = None
    """Fair-share value, relative to other accounts with the same parent. Default: 1, Slurm's own."""
    grp_jobs: int | None = None
    """Maximum number of running jobs of the whole account. Default: no limit."""
    grp_submit_jobs: int | None = None
    """Maximum number of running and pending jobs of the whole account. Default: no limit."""
    grp_tres: Mapping[str, int] = {}
    """Maximum resources of all its running jobs together, e.g. `{node: 16, gres/gpu: 128}`. Default: no limit.

    Also `cpu`, `billing`, and `mem` in MiB."""
    max_jobs: int | None = None
    """Maximum number of running jobs of each user. Default: no limit."""
    max_submit_jobs: int | None = None
    """Maximum number of running and pending jobs of each user. Default: no limit."""
    max_tres_per_job: Mapping[str, int] = {}
    """Maximum resources of one job, e.g. `{node: 4}`. Default: no limit."""
    max_wall_minutes: Annotated[WallMinutes | None, Field(alias="max_wall")] = None
    """Maximum run time of a job, e.g. `2 days`. Default: only the partition's limit."""


class Directory(WithPaths, Spec):
    """An LDAP directory or Active Directory with the users of the nodes, read by SSSD, always over TLS.

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
    """`ldap` or `active_directory`, which has a different schema. Default: `ldap`."""
    domain: Annotated[str, Field(examples=["corp.example.com"])]
    """DNS name of the directory; also its name in SSSD."""
    uris: Annotated[Several[str], Field(examples=[["ldaps://ldap.corp.example.com"]])]
    """LDAP URIs: `ldaps://…`, or `ldap://…` with `start_tls`. SSSD uses the first server that answers."""
    base_dn: Annotated[str, Field(examples=["dc=corp,dc=example,dc=com"])]
    """Base distinguished name of searches."""
    bind_dn: Annotated[str, Field(examples=["cn=reader,dc=corp,dc=example,dc=com"])]
    """Distinguished name that nodes bind with; read access to users and groups is enough."""
    bind_secret: Annotated[
        Secret, Field(examples=["arn:aws:secretsmanager:us-west-2:111122223333:secret:reader-AbCdEf"])
    ]
    """ARN of the secret whose whole value is the password of `bind_dn`. Each node reads it when it starts."""
    certificate: Annotated[
        str | Path, PATH_OR_TEXT, Field(alias="ca_certificate", examples=["/etc/ssl/certs/ca-certificates.crt"])
    ]
    """Certificate of the CA that signed the directory's certificate: a PEM file, relative to the fleet file, which is
    copied to the nodes, or an absolute path in the AMI. In Python, a `Path` is always a local file. ParallelCluster
    supports only the path in the AMI."""
    start_tls: bool = False
    """Whether an `ldap://` connection uses StartTLS. Default: no; `ldaps://` always uses TLS."""
    map_ids: bool | None = None
    """Whether ids are derived from SIDs instead of `uidNumber`. Default: yes with Active Directory, otherwise no."""
    first_id: int = slurm_limit_facts().first_mapped_id
    """Lowest id of the directory's users; users with a lower id cannot log in. Default: 200000, SSSD's own."""
    last_id: int = slurm_limit_facts().last_mapped_id
    """Highest id of the directory's users. Default: 2000200000, SSSD's own."""
    user_filter: str | None = None
    """LDAP filter of the users that may log in. Default: all users of the directory."""
    group_filter: str | None = None
    """LDAP filter of the groups on the nodes. Default: all."""
    sudo_groups: Several[str] = ()
    """Groups whose members may become root without a password. Default: none."""
    ssh_public_key_attribute: Annotated[str | None, Field(alias="ssh_keys")] = None
    """LDAP attribute with public SSH keys, e.g. `sshPublicKey`. Default: none; users connect with Session Manager."""
    home: str | None = None
    """Path of home directories, with `%u` for the login name. Default: in the cluster's folder for home directories."""
    test_user: str | None = None
    """A login name that every node must find before it reports healthy. Default: none."""
    sssd_on_image: bool = False
    """Confirms that the AMI contains SSSD. Default: no; SSSD is installed from the pinned `downloads`."""
    bind_secret_key: Key | None = None
    """ARN of the KMS key that encrypts the secret, if the secret is given by its ARN. Default: `aws/secretsmanager`."""

    @property
    def bind_secret_arn(self) -> str:
        """The ARN of `bind_secret`."""
        return SECRET.name_of(self.bind_secret)

    @property
    def certificate_on_nodes(self) -> str | None:
        """Path of the CA certificate in the AMI, if it is there."""
        return self.certificate if isinstance(self.certificate, str) and self.certificate.startswith("/") else None

    @property
    def maps_ids(self) -> bool:
        """`map_ids` with its default filled in."""
        return self.kind == "active_directory" if self.map_ids is None else self.map_ids
