"""Studio of the fleet file as the rules see it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llm_fleet.catalog.studio import studio_facts
from llm_fleet.config.fleet import Fleet
from llm_fleet.config.sagemaker.studio import StudioConfig
from llm_fleet.config.zones import zone_of_fsx
from llm_fleet.rules.sagemaker.studio_place import studio_zones
from llm_fleet.rules.sagemaker.studio_terms import StudioInternet, StudioSignIn

UserIds = tuple[int, int]
"""User id and group id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredStudioUser:
    """A user with the ids that follow from the clusters (`StudioUserLike`)."""

    name: str
    uid: int | None
    gid: int | None
    identity: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredStudio:
    """What the rules judge (`StudioLike`)."""

    config: StudioConfig
    fleet: Fleet

    @property
    def domain_name(self) -> str:
        """As written, or the fleet's name with the word."""
        return self.config.domain_name or f"{self.fleet.name}-studio"

    @property
    def sign_in(self) -> StudioSignIn:
        """As written."""
        return self.config.sign_in

    @property
    def internet(self) -> StudioInternet:
        """In the API's words."""
        return StudioInternet.SAGEMAKER if self.config.internet else StudioInternet.VPC_ONLY

    @property
    def users(self) -> Sequence[ConfiguredStudioUser]:
        """As written, with ids from the clusters for who has none."""
        return [self._user(name) for name in self.config.users]

    @property
    def instance_type(self) -> str:
        """As written."""
        return self.config.instance_type

    @property
    def allowed_instance_types(self) -> Sequence[str]:
        """As written."""
        return self.config.allowed_instance_types

    @property
    def idle_minutes(self) -> int | None:
        """As written."""
        return self.config.idle_minutes

    @property
    def volume_gib(self) -> int:
        """As written."""
        return self.config.volume_gib

    @property
    def maximum_volume_gib(self) -> int:
        """As written."""
        return self.config.maximum_volume_gib

    @property
    def lustre_directory(self) -> str:
        """As written."""
        return self.config.lustre_directory

    @property
    def code_repositories(self) -> Sequence[str]:
        """As written."""
        return self.config.code_repositories

    @property
    def pins(self) -> Sequence[str]:
        """As written."""
        return self.config.pins

    @property
    def name_prefixes(self) -> Sequence[str]:
        """As written."""
        return self.config.name_prefixes

    @property
    def mounts_lustre(self) -> bool:
        """Whether there is a file system, and it is wanted."""
        return self.config.mount_fsx and self.fleet.storage.fsx is not None

    @property
    def lustre_zone(self) -> str | None:
        """Where it stands; `None` where there is none, or nobody told."""
        return zone_of_fsx(self.fleet) if self.mounts_lustre else None

    @property
    def zones(self) -> tuple[str, ...]:
        """AZ ids of the domain's subnets."""
        network = self.fleet.network
        return studio_zones(network.availability_zone_ids if network is not None else (), self.lustre_zone)

    def ids_on_clusters(self) -> Mapping[str, Mapping[str, UserIds]]:
        """Return the ids of people on the clusters that are reached, by cluster and name."""
        reached = {name: self.fleet.clusters[name] for name in self.config.clusters if name in self.fleet.clusters}
        return {
            name: {who.name: (who.uid, who.uid if who.gid is None else who.gid) for who in cluster.people.values()}
            for name, cluster in reached.items()
        }

    def _user(self, name: str) -> ConfiguredStudioUser:
        user = self.config.users[name]
        uid, gid = user.uid, user.gid
        if uid is None and gid is None:
            uid, gid = self._ids_of(name) or (None, None)
        return ConfiguredStudioUser(name=name, uid=uid, gid=gid, identity=user.identity)

    def _ids_of(self, name: str) -> UserIds | None:
        """Return the ids of `name` on the first cluster that has such a user, if Studio takes them."""
        facts = studio_facts()
        found = next((ids[name] for ids in self.ids_on_clusters().values() if name in ids), None)
        return found if found and facts.uid.holds(found[0]) and facts.gid.holds(found[1]) else None
