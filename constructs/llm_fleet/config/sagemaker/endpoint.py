"""An endpoint of a fleet file: beside its description, what it names of the rest of the fleet."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from llm_fleet.config.service import MADE_BY_THE_FLEET
from llm_fleet.spec.endpoint import S3_SCHEME, TARBALL_ENDING, EndpointModel, EndpointSpec


class FleetEndpointModel(EndpointModel):
    """The model of an endpoint in a fleet file, which may be in the fleet's own storage."""

    bucket: str | None = None
    """A name under `storage.buckets`, in place of `s3` and `tarball`: the fleet's own bucket."""
    key: str | None = None
    """With `bucket`: its folder there, or its archive, e.g. `gpt-j/` or `gpt-j/model.tar.gz`."""

    def on(self, buckets: Mapping[str, tuple[str, str | None]] | None) -> EndpointModel:
        """Return it in `buckets`, name and key of the fleet's own by their names in the file; `None`: made later."""
        if self.bucket is None:
            return self.narrowed(EndpointModel)
        path = self.key or ""
        if buckets is None:  # The rules judge the path as it is written.
            uri, key_arn = f"{S3_SCHEME}{MADE_BY_THE_FLEET}/{path}", self.key_arn
        else:
            name, key_arn = buckets[self.bucket]
            uri = f"{S3_SCHEME}{name}/{path.strip('/')}"
        place = "tarball_uri" if path.endswith(TARBALL_ENDING) else "s3_uri"
        return self.narrowed(EndpointModel, **{place: uri, "key_arn": key_arn})


class EndpointConfig(EndpointSpec):
    """A model behind an endpoint of SageMaker. Its key is its name, after that of the fleet."""

    # Pyright does not see that models are frozen, where an attribute may have a narrower type.
    model: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        FleetEndpointModel,
        Field(examples=[{"hub": "EleutherAI/gpt-j-6b", "revision": "float16"}, "s3://my-models/gpt-j/"]),
    ]
    """What is served: an id of the Hub, `s3://…`, or more about it."""
    in_network: Annotated[bool | None, Field(alias="network")] = None
    """Whether the instances stand in the fleet's network. Default: they do where the fleet has one."""
    tags: Mapping[str, str] = {}
    """Tags of the endpoint, next to those of the fleet. Default: none."""

    def in_fleet(self, fleet_name: str, buckets: Mapping[str, tuple[str, str | None]] | None = None) -> EndpointSpec:
        """Return it under the name that two fleets of an account can both have, on the fleet's storage.

        `buckets`: name and key of the fleet's own, by their names in the file. Default: made later.
        """
        return self.narrowed(EndpointSpec, name=f"{fleet_name}-{self.name}", model=self.model.on(buckets))

    def stands_in_network(self, *, fleet_has_one: bool) -> bool:
        """Return whether its instances stand in the fleet's network."""
        return fleet_has_one if self.in_network is None else self.in_network
