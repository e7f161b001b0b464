"""What nodes must be allowed for their training runtime."""

from llm_fleet.lifecycle.training_runtime import TrainingRuntime
from llm_fleet.rules.training.image import ecr_repository, image_of
from llm_fleet.rules.training.place import TrainingPlace
from llm_fleet.rules.training.planned import plan


def image_repositories(runtime: TrainingRuntime | None, *, region: str | None, partition: str) -> tuple[str, ...]:
    """Return the ARNs of the private ECR repositories that the images of `runtime` are in, each once."""
    place = TrainingPlace(groups=(), region=region)
    images = [image_of(plan(each, place), place) for each in (runtime.environments if runtime else ())]
    found = [ecr_repository(image, partition) for image in images if image is not None]
    return tuple(dict.fromkeys(arn for arn in found if arn is not None))
