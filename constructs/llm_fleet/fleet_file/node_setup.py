"""What the nodes of any cluster can be told."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr

from llm_fleet.fleet_file.choices import Removal
from llm_fleet.fleet_file.downloads import DownloadsConfig
from llm_fleet.fleet_file.neuron import NeuronConfig
from llm_fleet.fleet_file.s3_mount import S3MountConfig
from llm_fleet.rules.terms import NodeReports
from llm_fleet.spec.cluster import ClusterSpec
from llm_fleet.spec.model import NamedModel
from llm_fleet.spec.people import ClusterUser, Directory, SlurmAccount
from llm_fleet.spec.training_runtime import TrainingRuntime
from llm_fleet.spec.values import InFile, KeyArn


class FleetDirectory(Directory):
    """An LDAP directory or Active Directory that nodes know people from, by SSSD, over TLS alone."""

    bind_secret_key: KeyArn | None = None
    """ARN of the KMS key that encrypts the secret. Default: `aws/secretsmanager`."""

    _directory: Path | None = PrivateAttr(default=None)

    def stand_in(self, directory: Path) -> None:
        """Take `directory`, that of the fleet file, for the one that relative paths begin at; for the loader."""
        self._directory = directory

    @property
    def in_place(self) -> Directory:
        """The directory with its certificate found from the process."""
        found = self.certificate_on_nodes or (self._directory or Path()) / self.certificate
        return self.narrowed(Directory, certificate=found)

    @property
    def certificate_text(self) -> str | None:
        """The authority in PEM, where it goes with the bundle; empty for a file that cannot be read."""
        # Imported here: most fleets have no directory.
        from llm_fleet.named_files.named_file import certificate_text
        from llm_fleet.rules.people import CERTIFICATE

        if self._directory is None and self.certificate_on_nodes is None:
            return CERTIFICATE  # It is not known where the file lies, so nothing can be said of it.
        return certificate_text(self.in_place)


def _without_default(schema: dict[str, Any]) -> None:
    del schema["default"]


class NodeSetupModel(ClusterSpec, NamedModel):
    """A cluster of any kind, as far as nodes are set up alike. Its key is its name, unless `name` says otherwise."""

    # Pyright does not see that models are frozen, where an attribute may have a narrower type. Its key is the default.
    cluster_name: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        str, InFile(str | None), Field(alias="name", json_schema_extra=_without_default)
    ] = ""
    """The cluster's name. Default: its key in this file."""
    users: Mapping[str, ClusterUser] = {}
    """People by login name, with the same ids on every node. Default: the image's own user."""
    slurm_accounts: Mapping[str, SlurmAccount] = Field(default={}, examples=["{research: {max_jobs: 8}}"])
    """The tree of Slurm's accounts with its limits, by name. Default: those that users name, without limits."""
    directory: FleetDirectory | None = None
    """An LDAP directory that nodes know further people from. Default: the fleet's."""
    s3_mounts: tuple[S3MountConfig, ...] = ()
    """Buckets that nodes see as folders. Default: none."""
    neuron: NeuronConfig | None = None
    """The Neuron SDK that hosts carry. Default: whichever release the image has."""
    training: TrainingRuntime | None = Field(
        default=None, examples=[{"environments": {}}, "{environments: {nxd: {kind: neuron}}}"]
    )
    """What nodes carry for training jobs: `neuron` for the usual environment, or more about it. Default: nothing."""
    downloads: DownloadsConfig | None = None
    """What nodes may fetch when they start. Default: nothing but the lifecycle bundle."""
    reports: NodeReports = NodeReports.ALL
    """What a node leaves behind of its start: `all`, `s3` (report and log, no metric, no event) or `none`.

    Default: `all`. In a network without internet an event needs `endpoints: [events]`."""
    reads: tuple[str, ...] = ()
    """Buckets that nodes may read: names under `storage.buckets`, or `s3://<bucket>`. Default: none.

    Where an existing bucket has a KMS key of its own, that key's policy must let the nodes' role use it."""
    writes: tuple[str, ...] = ()
    """Buckets that nodes may read and write, named likewise. Default: none."""
    removal: Removal = Removal.DESTROY
    """What becomes of the cluster when its stack is deleted. Default: it goes; the data is in the file system."""
    kind: Literal["hyperpod", "parallelcluster"]
    """What runs the cluster. Each kind has its own word."""

    _fleet_users: Mapping[str, ClusterUser] = PrivateAttr(default={})
    _fleet_directory: FleetDirectory | None = PrivateAttr(default=None)

    def join(self, users: Mapping[str, ClusterUser], directory: FleetDirectory | None) -> None:
        """Take in the people of the whole fleet; for the fleet, once it is read."""
        self._fleet_users, self._fleet_directory = users, directory

    @property
    def people(self) -> Mapping[str, ClusterUser]:
        """Everybody whom nodes make: the fleet's users and its own, who say more of the former where both have them."""
        return {**self._fleet_users, **self.users}

    @property
    def asked_directory(self) -> FleetDirectory | None:
        """The directory that its nodes ask: its own, else the fleet's."""
        return self.directory or self._fleet_directory

    def stand_in(self, directory: Path) -> None:
        """Take `directory`, that of the fleet file, for the one that relative paths begin at; for the loader."""
        if self.downloads is not None:
            self.downloads.stand_in(directory)
        if self.asked_directory is not None:
            self.asked_directory.stand_in(directory)

    def called(self, name: str) -> None:
        """Take `name`, which AWS knows it by unless `name` was written."""
        super().called(name)
        if not self.cluster_name:
            object.__setattr__(self, "cluster_name", name)
            self.model_fields_set.discard("cluster_name")
