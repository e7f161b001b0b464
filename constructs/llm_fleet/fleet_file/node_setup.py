"""A cluster of any kind in a fleet file: beside its description, what it names of the rest of the fleet."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr

from llm_fleet.fleet_file.choices import Removal
from llm_fleet.spec.cluster import ClusterSpec
from llm_fleet.spec.model import NamedModel
from llm_fleet.spec.people import ClusterUser, Directory
from llm_fleet.spec.values import InFile


def _without_default(schema: dict[str, Any]) -> None:
    del schema["default"]


class NodeSetupModel(ClusterSpec, NamedModel):
    """A cluster of any kind, as far as nodes are set up alike. Its key is its name, unless `name` says otherwise."""

    # Pyright does not see that models are frozen, where an attribute may have a narrower type. Its key is the default.
    cluster_name: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        str, InFile(str | None), Field(alias="name", json_schema_extra=_without_default)
    ] = ""
    """The cluster's name. Default: its key in this file."""
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
    _fleet_directory: Directory | None = PrivateAttr(default=None)

    def join(self, users: Mapping[str, ClusterUser], directory: Directory | None) -> None:
        """Take in the people of the whole fleet; for the fleet, once it is read."""
        self._fleet_users, self._fleet_directory = users, directory

    @property
    def people(self) -> Mapping[str, ClusterUser]:
        """Everybody whom nodes make: the fleet's users and its own, who say more of the former where both have them."""
        return {**self._fleet_users, **{user.name: user for user in self.users}}

    @property
    def asked_directory(self) -> Directory | None:
        """The directory that its nodes ask: its own, else the fleet's."""
        return self.directory or self._fleet_directory

    @property
    def of_fleet(self) -> Mapping[str, Any]:
        """What its nodes are set up with together with the fleet: fields of its description, for `narrowed`."""
        return {"users": tuple(self.people.values()), "directory": self.asked_directory}

    def called(self, name: str) -> None:
        """Take `name`, which AWS knows it by unless `name` was written."""
        super().called(name)
        if not self.cluster_name:
            object.__setattr__(self, "cluster_name", name)
            self.model_fields_set.discard("cluster_name")
