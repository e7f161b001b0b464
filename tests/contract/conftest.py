"""Services as the constructs synthesize them, served on this machine by stand-ins."""

import json
from collections.abc import Callable, Iterator

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from llm_fleet import (
    Authentication,
    ClaimFormat,
    FleetNetwork,
    Front,
    HuggingFaceVllmServer,
    InferenceService,
    Jwt,
    JwtClaim,
    Model,
    ServiceSpec,
    TgiServer,
)
from llm_fleet.spec.model_server import AnyServer
from llm_fleet.spec.network import NetworkSpec
from llm_fleet_local.serving.local_issuer import LocalIssuer, token_settings
from llm_fleet_local.serving.local_service import LocalService
from llm_fleet_local.serving.template.read_front import read_front
from llm_fleet_local.serving.template.read_service import choose_service, read_services
from llm_fleet_local.serving.template.reader import TemplateReader
from tests.conftest import ENVIRONMENT
from tools.synth_environment import cdk_context

TIME_SCALE = 0.004
"""The deregistration delay of 600 s in the template takes 2.4 s here."""
TOKEN_SECONDS = 0.01
CERTIFICATE = "arn:aws:acm:us-west-2:111122223333:certificate/12345678-1234-1234-1234-123456789012"
ISSUER = Jwt(
    issuer="https://issuer.example.com",
    jwks_endpoint="https://issuer.example.com/keys.json",
    claims=(JwtClaim(name="scope", values=("chat",), format=ClaimFormat.SPACE_SEPARATED),),
)

Serve = Callable[..., LocalService]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One stack: TGI with a key, vLLM with a key, TGI with tokens behind HTTPS."""
    app = cdk.App(context=cdk_context(), outdir=str(tmp_path_factory.mktemp("contract") / "cdk.out"))
    stack = cdk.Stack(app, "Contract", env=ENVIRONMENT)
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az1", "usw2-az4"]))

    def add(name: str, server: AnyServer, front: Front) -> None:
        InferenceService(
            stack,
            name.capitalize(),
            ServiceSpec(
                name=name,
                model=Model(s3_uri="s3://my-models/tanuki-8b"),
                server=server,
                instance_type="inf2.xlarge",
                desired=2,
                front=front,
                neuron_health=False,
            ),
            network=network,
        )

    tgi = TgiServer(batch_size=2, sequence_length=512, max_concurrent_requests=3)
    add("tgi", tgi, Front(plain_http=True))
    add("vllm", HuggingFaceVllmServer(batch_size=2, sequence_length=512), Front(plain_http=True))
    add("tokens", tgi, Front(certificate_arn=CERTIFICATE, authentication=Authentication.JWT, jwt=ISSUER))
    return json.dumps(Template.from_stack(stack).to_json())


@pytest.fixture(scope="session")
def issuer() -> LocalIssuer:
    """The issuer of tokens, with its own key."""
    return LocalIssuer()


@pytest.fixture(scope="session")
def serve(template: str, issuer: LocalIssuer) -> Serve:
    """Starts a service of the template."""

    def make(service: str, tasks: int | None, *, body: str = template, normalize_paths: bool = False) -> LocalService:
        reader = TemplateReader(body)
        chosen = choose_service(read_services(reader), service)
        settings = token_settings(read_front(reader, chosen.target_group))
        return LocalService(
            body,
            service=service,
            tasks=tasks,
            time_scale=TIME_SCALE,
            token_seconds=TOKEN_SECONDS,
            keys={item["JwksEndpoint"]: issuer.keys for item in settings},
            normalize_paths=normalize_paths,
        )

    return make


@pytest.fixture(scope="session")
def tgi(serve: Serve) -> Iterator[LocalService]:
    """TGI with an API key, and the number of tasks of the template."""
    with serve("tgi", None) as service:
        yield service


@pytest.fixture(scope="session")
def vllm(serve: Serve) -> Iterator[LocalService]:
    """vLLM with an API key."""
    with serve("vllm", 1) as service:
        yield service


@pytest.fixture(scope="session")
def tokens(serve: Serve) -> Iterator[LocalService]:
    """TGI with HTTPS and tokens of an issuer."""
    with serve("tokens", 1) as service:
        yield service
