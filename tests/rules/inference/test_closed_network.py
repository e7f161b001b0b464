"""What a service cannot fetch without internet."""

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.service import check_closed_network, check_pulled_image
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.front import Authentication
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.served_model import ModelSource
from tests.rules.inference.services import REGION, a_model, a_server, service

NONE = InternetAccess.NONE
OWN = "111122223333.dkr.ecr.us-west-2.amazonaws.com/tgi:1"


@pytest.mark.parametrize(
    "image",
    [
        "public.ecr.aws/neuron/neuron-problem-detector:1.2.0",
        "ghcr.io/huggingface/text-generation-inference:3.3.6-neuron",
        "763104351884.dkr.ecr.eu-west-1.amazonaws.com/tgi:1",
        "registry.example.com:5000/tgi@sha256:" + "0" * 64,
        "evil.example.com/111122223333.dkr.ecr.us-west-2.amazonaws.com/tgi:1",
    ],
)
def test_images_from_elsewhere(image: str) -> None:
    (problem,) = check_pulled_image(image, "server", "image", region="us-west-2", internet=NONE)
    assert (problem.code, problem.where) == (Code.CLOSED_NETWORK, "server.image")
    assert check_pulled_image(image, "server", "image", region="us-west-2", internet=InternetAccess.NAT) == []
    assert check_pulled_image(image, "server", "image", region="us-west-2", internet=None) == []


@pytest.mark.parametrize(
    ("image", "region"),
    [
        (OWN, "us-west-2"),
        (OWN, None),
        ("763104351884.dkr.ecr.cn-north-1.amazonaws.com.cn/tgi:1", "cn-north-1"),
        (None, "us-west-2"),
    ],
)
def test_images_of_the_region(image: str | None, region: str | None) -> None:
    assert check_pulled_image(image, "server", "image", region=region, internet=NONE) == []


def test_a_service_that_needs_the_internet_is_told_all_of_it() -> None:
    asking = service(
        server=a_server(image="ghcr.io/x/tgi:1"),
        model=a_model("weblab/tanuki", source=ModelSource.HUB),
        front={"public": True, "authentication": Authentication.JWT},
    )
    told = {problem.where for problem in check_closed_network(asking, region=REGION, internet=NONE)}
    assert told == {"server.image", "model.hub_id", "front.public", "front.jwt.jwks_endpoint"}
    assert (
        check_closed_network(asking, region=REGION, internet=InternetAccess.NAT)
        == check_closed_network(asking, region=REGION, internet=None)
        == []
    )
    assert check_closed_network(service(), region=REGION, internet=NONE) == []


def test_an_image_that_is_only_public_must_be_copied() -> None:
    (problem,) = check_closed_network(service(server=a_server(ServerKind.AWS_VLLM)), region=REGION, internet=NONE)
    assert (problem.where, problem.value.partition("/")[0]) == ("server.image", "public.ecr.aws")
    copied = service(server=a_server(ServerKind.AWS_VLLM, image=OWN))
    assert check_closed_network(copied, region=REGION, internet=NONE) == []
