"""What a service of the fleet file is made of, as values of the construct."""

from collections.abc import Mapping
from typing import TypedDict

from llm_fleet.config.services.front import FrontConfig
from llm_fleet.config.services.model import ServedModelConfig
from llm_fleet.config.services.service import ServiceConfig
from llm_fleet.config.services.sidecar_images import SidecarImagesConfig
from llm_fleet.inference.ec2_hosts import Ec2Hosts
from llm_fleet.inference.front import Front
from llm_fleet.inference.jwt import Jwt
from llm_fleet.inference.jwt_claim import JwtClaim
from llm_fleet.inference.managed_hosts import ManagedHosts
from llm_fleet.inference.model import Model
from llm_fleet.inference.model_shape import ModelShape
from llm_fleet.inference.scaling import Scaling
from llm_fleet.inference.sidecar_images import SidecarImages
from llm_fleet.rules.inference.protocols import ShapeLike
from llm_fleet.rules.inference.terms import Capacity, ModelSource
from llm_fleet.storage.buckets import DataBucket


class _Common(TypedDict):
    """What each maker of a model takes."""

    compiled: bool
    shape: ModelShape | None
    served_name: str | None


def model_from(
    config: ServedModelConfig,
    *,
    own: tuple[str, str] | None,
    buckets: Mapping[str, DataBucket],
    served_name: str | None = None,
    compiled: bool | None = None,
    shape: ShapeLike | None = None,
) -> Model:
    """Return the model that `config` describes.

    `own`: one of the fleet's own `buckets`, by its name there, and the model's folder in it; `None` for none of them.
    `served_name`, `compiled`, `shape`: what it is where `config` does not say it.
    """
    told = config.shape or shape
    common = _Common(
        compiled=config.compiled if compiled is None or config.own_compiled is not None else compiled,
        shape=None if told is None else _shape(told),
        served_name=config.served_name or served_name,
    )
    if config.source is ModelSource.HUB:
        return Model.from_hub(
            config.location,
            revision=config.revision,
            token_secret_arn=config.token_secret_arn,
            token_key_arn=config.token_key_arn,
            **common,
        )
    if config.source is ModelSource.IMAGE:
        return Model.in_image(config.location, **common)
    if own is not None:
        key, folder = own
        return Model.from_bucket(buckets[key], folder, cache_gib=config.cache_gib, **common)
    return Model.from_s3(config.location, key_arn=config.key_arn, cache_gib=config.cache_gib, **common)


def hosts_from(config: ServiceConfig) -> Ec2Hosts | ManagedHosts:
    """Return the instances under the service that `config` describes."""
    hosts = config.hosts
    if hosts.capacity is Capacity.MANAGED_INSTANCES:  # the fleet file has been refused with what AWS chooses
        return ManagedHosts(instance_type=config.instance_type, root_volume_gib=hosts.root_volume_gib)
    return Ec2Hosts(
        instance_type=config.instance_type,
        root_volume_gib=hosts.root_volume_gib,
        ami=hosts.ami,
        driver_version=hosts.driver_version,
        install_driver=hosts.install_driver is not False,
    )


def front_from(config: FrontConfig) -> Front:
    """Return the load balancer that `config` describes."""
    return Front(
        certificate_arn=config.certificate_arn,
        plain_http=config.plain_http,
        public=config.public,
        allowed_cidrs=config.allowed_cidrs,
        authentication=config.authentication,
        jwt=None if config.jwt is None else _jwt(config),
        api_key_secret_arn=config.api_key_secret_arn,
        longest_answer_seconds=config.longest_answer_seconds,
        domain_name=config.domain_name,
        requests_per_five_minutes=config.requests_per_five_minutes,
    )


def scaling_from(config: ServiceConfig) -> Scaling:
    """Return how many tasks the service has that `config` describes."""
    return Scaling(
        desired=config.desired,
        minimum=config.minimum,
        maximum=config.maximum,
        queue_target=config.scaling.queue_target,
        requests_per_minute_target=config.scaling.requests_per_minute_target,
    )


def _shape(told: ShapeLike) -> ModelShape:
    return ModelShape(
        parameters=told.parameters,
        layers=told.layers,
        attention_heads=told.attention_heads,
        kv_heads=told.kv_heads,
        head_dim=told.head_dim,
        bytes_per_parameter=told.bytes_per_parameter,
    )


def sidecar_images_from(config: SidecarImagesConfig) -> SidecarImages:
    """Return whose images are pulled beside the server's."""
    own = SidecarImages()
    return SidecarImages(
        collector=config.collector or own.collector,
        problem_detector=config.problem_detector or own.problem_detector,
        recovery=config.recovery or own.recovery,
    )


def _jwt(config: FrontConfig) -> Jwt:
    jwt = config.jwt
    assert jwt is not None
    return Jwt(
        issuer=jwt.issuer,
        jwks_endpoint=jwt.jwks_endpoint,
        claims=tuple(JwtClaim(name=each.name, values=each.values, format=each.format) for each in jwt.claims),
    )
