"""Which repository an image is pulled from."""

import pytest

from llm_fleet.inference.server import repository_arn

ECR = "763104351884.dkr.ecr.us-west-2.amazonaws.com"


@pytest.mark.parametrize(
    ("image", "arn"),
    [
        (f"{ECR}/tgi:1.2", "arn:aws:ecr:us-west-2:763104351884:repository/tgi"),
        (f"{ECR}/team/tgi", "arn:aws:ecr:us-west-2:763104351884:repository/team/tgi"),
        (f"{ECR}/tgi@sha256:{'0' * 64}", "arn:aws:ecr:us-west-2:763104351884:repository/tgi"),
        (
            "111122223333.dkr-ecr.us-gov-west-1.on.aws/tgi:1",
            "arn:aws:ecr:us-gov-west-1:111122223333:repository/tgi",
        ),
        (
            "111122223333.dkr.ecr-fips.us-east-1.amazonaws.com/tgi:1",
            "arn:aws:ecr:us-east-1:111122223333:repository/tgi",
        ),
        ("public.ecr.aws/neuron/pytorch-inference-vllm-neuronx:0.13.0", None),
        ("ghcr.io/huggingface/text-generation-inference:3.3.5-neuron", None),
        ("${Token[TOKEN.12]}", None),
    ],
)
def test_repository(image: str, arn: str | None):
    assert repository_arn(image, partition="aws") == arn
