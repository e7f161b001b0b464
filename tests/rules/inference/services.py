"""Services as the rules see them: plain values, any of which a test may replace."""

from types import SimpleNamespace
from typing import Any, cast

from llm_fleet.rules.inference.model_shape import known_shape
from llm_fleet.rules.inference.protocols import ServiceLike
from llm_fleet.rules.inference.terms import Authentication, Capacity, ModelSource, ServerKind

REGION = "us-west-2"

GOOD: dict[str, dict[str, Any]] = {
    "server": {
        "kind": ServerKind.TGI,
        "image": None,
        "runtime_version": None,
        "environment": {},
        "capabilities": (),
        "tensor_parallel": None,
        "batch_size": 4,
        "sequence_length": 4096,
        "settings": {},
    },
    "model": {
        "source": ModelSource.S3,
        "location": "s3://my-models/tanuki-8b",
        "revision": None,
        "token_secret_arn": None,
        "compiled": True,
        "shape": known_shape("tanuki-8b"),
        "served_name": None,
        "key_arn": None,
        "cache_gib": None,
    },
    "hosts": {
        "capacity": Capacity.EC2,
        "instance_type": "inf2.xlarge",
        "root_volume_gib": None,
        "ami": None,
        "driver_version": None,
        "install_driver": True,
    },
    "scaling": {
        "desired": 2,
        "minimum": None,
        "maximum": None,
        "queue_target": None,
        "requests_per_minute_target": None,
    },
    "front": {
        "certificate_arn": None,
        "plain_http": True,
        "public": False,
        "allowed_cidrs": (),
        "authentication": Authentication.API_KEY,
        "jwt": None,
        "api_key_secret_arn": None,
        "longest_answer_seconds": 600,
        "domain_name": None,
        "requests_per_five_minutes": 3000,
    },
}


def service(*, name: str = "chat", region: str | None = REGION, **parts: Any) -> ServiceLike:
    """Return a good service with `parts` replaced, attribute by attribute."""
    made = {part: SimpleNamespace(**{**attributes, **parts.get(part, {})}) for part, attributes in GOOD.items()}
    return cast(ServiceLike, SimpleNamespace(name=name, region=region, **made))
