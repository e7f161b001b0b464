"""Whether nodes without internet reach what a training environment is made of."""

from collections.abc import Iterator

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.training.image import ecr_repository, image_of
from llm_fleet.rules.training.place import TrainingPlace
from llm_fleet.rules.training.planned import PlannedEnvironment
from llm_fleet.rules.training.protocols import RuntimeLike


def check_reached(environment: PlannedEnvironment, place: TrainingPlace) -> Iterator[Problem]:
    """Return what nodes in a closed network would fetch from outside of it."""
    if place.internet:
        return
    image = image_of(environment, place)
    if image is None:
        if environment.wanted and place.source == "vendor":
            yield Problem(
                code=Code.TRAINING_CLOSED,
                message="the nodes have no way to the internet, and their packages come from their vendors",
                remedy="fill a mirror with `llm-fleet mirror build --to s3://…`, and name it as `downloads.mirror`",
                path=("packages",) if environment.given.packages else (),
            )
        return
    repository = ecr_repository(image, "aws")
    region = repository.split(":")[3] if repository is not None else None
    if repository is None or (region != place.region and not is_unresolved(region) and not is_unresolved(place.region)):
        yield Problem(
            code=Code.TRAINING_CLOSED,
            message="the nodes have no way to the internet, and reach private images of ECR in their region only",
            remedy="copy the image to a private ECR repository in the region, and name that",
            path=("image",),
            value=image,
        )


def check_hub_reached(runtime: RuntimeLike, place: TrainingPlace) -> Iterator[Problem]:
    """Return a problem when jobs are to sign in to the Hub from a network without a way to it."""
    if runtime.hub_token_secret_arn is not None and not place.internet:
        yield Problem(
            code=Code.TRAINING_CLOSED,
            message="the nodes have no way to the internet, where the Hugging Face Hub is",
            remedy="leave the token out, and bring models and data in through S3",
            path=("hub_token_secret_arn",),
        )
