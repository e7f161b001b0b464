"""SageMaker Studio of a fleet file: beside its description, what it names of the rest of the fleet."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from llm_fleet.catalog.studio import studio_facts
from llm_fleet.spec.studio import StudioSpec, StudioUser

IdsOnClusters = Mapping[str, Mapping[str, tuple[int, int]]]
"""User id and group id of people, by cluster and name."""


class StudioConfig(StudioSpec):
    """A domain of SageMaker Studio, and who works in it."""

    mount_fsx: Annotated[bool, Field(alias="fsx")] = True
    """Whether people can attach the fleet's FSx for Lustre to spaces, at /fsx. Default: yes, where there is one."""
    bucket_keys: Annotated[tuple[str, ...], Field(alias="buckets", examples=[["data"]])] = ()
    """Which of `storage.buckets` people work with; the first is the SDK's default bucket. Default: one of its own."""
    clusters: tuple[str, ...] = ()
    """Clusters of the fleet on whose nodes people open shells from it. Default: none."""
    tags: Mapping[str, str] = {}
    """Tags of Studio, and of what people make in it, next to those of the fleet. Default: none."""

    def in_fleet(self, fleet_name: str, ids: IdsOnClusters) -> StudioSpec:
        """Return it under its name in the fleet, its people with the ids that they have on `clusters`."""
        return self.narrowed(
            StudioSpec,
            domain_name=self.domain_name or f"{fleet_name}-studio",
            users={name: _with_ids(name, user, ids) for name, user in self.users.items()},
        )


def _with_ids(name: str, user: StudioUser, ids: IdsOnClusters) -> StudioUser:
    """Return `user` with the ids of the first cluster that has one of this name, if Studio takes them."""
    facts = studio_facts()
    found = next((each[name] for each in ids.values() if name in each), None)
    if user.uid is not None or user.gid is not None or found is None:
        return user
    uid, gid = found
    return user.narrowed(StudioUser, uid=uid, gid=gid) if facts.uid.holds(uid) and facts.gid.holds(gid) else user
