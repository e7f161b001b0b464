"""Services, models and servers for tests of rules; values are not validated, so they can be wrong."""

from typing import Any, TypeVar, cast

from llm_fleet.spec.model_server import SERVERS, ModelServer, ServerKind
from llm_fleet.spec.model_shape import Model, ModelShape, ModelSource, known_shape
from llm_fleet.spec.service import Front, Hosts, Scaling, ServiceSpec
from llm_fleet.spec.spec import Spec

S = TypeVar("S", bound=Spec)
REGION = "us-west-2"
TOKEN = "${Token[TOKEN.42]}"
OWN_IMAGE = "registry.example.com:5000/team/tgi:1.2"
TANUKI = known_shape("tanuki-8b")
_PLACES = {ModelSource.S3: "s3_uri", ModelSource.HUB: "hub_id", ModelSource.IMAGE: "image_path"}


def with_(spec: S, **changes: Any) -> S:
    """Return `spec` with `changes`, which can be invalid."""
    return spec.narrowed(type(spec), **changes)


def a_server(kind: ServerKind = ServerKind.TGI, settings: dict[str, Any] | None = None, **changes: Any) -> ModelServer:
    """Return any model server, valid or invalid."""
    return SERVERS[kind].model_construct(**changes, **(settings or {}))


def a_model(
    location: str = "s3://my-models/tanuki-8b",
    *,
    source: ModelSource = ModelSource.S3,
    compiled: bool = True,
    shape: ModelShape | None = TANUKI,
    **changes: Any,
) -> Model:
    """Return any model, valid or invalid."""
    place: dict[str, Any] = {_PLACES[source]: location}
    return Model.model_construct(compiled=compiled, shape=shape, **place, **changes)


def named(name: str, *, compiled: bool = True) -> Model:
    """Return the model `name` of the catalog."""
    return a_model(f"s3://my-models/{name}", shape=known_shape(name), compiled=compiled)


def service(
    *,
    name: str = "chat",
    server: ModelServer | None = None,
    model: Model | None = None,
    hosts: dict[str, Any] | None = None,
    front: dict[str, Any] | None = None,
    scaling: dict[str, Any] | None = None,
    instance_type: str = "inf2.xlarge",
    **changes: Any,
) -> ServiceSpec:
    """Return a valid service with some attributes replaced."""
    return ServiceSpec.model_construct(
        name=name,
        server=server or a_server(),
        model=model or a_model(),
        hosts=Hosts.model_construct(**(hosts or {})),
        front=Front.model_construct(**cast("dict[str, Any]", {"plain_http": True, **(front or {})})),
        scaling=Scaling.model_construct(**(scaling or {})),
        instance_type=instance_type,
    ).model_copy(update=changes)
