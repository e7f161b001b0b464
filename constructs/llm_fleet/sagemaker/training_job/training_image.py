"""The container that a training job runs in."""

from dataclasses import dataclass

from llm_fleet.catalog.training_job_images import training_image_families
from llm_fleet.rules.sagemaker.training_job_image import image_uri, newest_version
from llm_fleet.rules.sagemaker.training_job_terms import TrainingImageKind
from llm_fleet.rules.training.image import ecr_repository


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingImage:
    """One of AWS's images for training, or one of your own.

    AWS's are known by region: the registry's account and domain differ in opt-in regions, China and GovCloud. Which
    form of an image is taken, with or without CUDA, follows from the instance. `TrainingJobSpec` refuses one that does
    not exist, is retired or does not run on its instance (LF960, LF970). Source of the versions:
    `catalog/data/training_job_images.json`.
    """

    kind: TrainingImageKind
    """Which line of images."""
    version: str | None = None
    """Which of them. Default: the catalog's; of an own image it is in its address."""
    own_uri: str | None = None
    """The address of an own image; else `None`."""

    @classmethod
    def pytorch(cls, version: str | None = None) -> "TrainingImage":
        """Return AWS's PyTorch image, for GPUs or without. Default: 2.10.0, patched until 2027-01-21."""
        return cls(kind=TrainingImageKind.PYTORCH, version=version)

    @classmethod
    def hugging_face(cls, version: str | None = None) -> "TrainingImage":
        """Return AWS's image with Hugging Face Transformers `version`, for GPUs. Default: 5.3.0, with PyTorch 2.9."""
        return cls(kind=TrainingImageKind.HUGGING_FACE, version=version)

    @classmethod
    def pytorch_neuronx(cls, version: str | None = None) -> "TrainingImage":
        """Return AWS's PyTorch image for Trainium (trn1, trn2), with the Neuron SDK. Default: 2.9.0, SDK 2.29.0."""
        return cls(kind=TrainingImageKind.PYTORCH_NEURONX, version=version)

    @classmethod
    def smp(cls, version: str | None = None) -> "TrainingImage":
        """Return the image of the SageMaker model parallel library v2, by its PyTorch. Default: 2.5.1, the last."""
        return cls(kind=TrainingImageKind.SMP, version=version)

    @classmethod
    def of(cls, uri: str) -> "TrainingImage":
        """Return the image at `uri`, registry and tag included. It is in ECR, and SageMaker can pull it.

        With a source bundle it must have the sagemaker-training toolkit in it, as AWS's images do.
        """
        return cls(kind=TrainingImageKind.OWN, own_uri=uri)

    def uri(self, *, region: str, instance_type: str) -> str:
        """Return its address for `instance_type` in `region`. Of a right image only: see `TrainingJobSpec`."""
        return image_uri(self, region=region, instance_type=instance_type)

    def repository_arn(self, *, region: str, instance_type: str, partition: str) -> str | None:
        """Return the ARN of its ECR repository, which the job's role pulls from; `None` of one that is not in ECR."""
        return ecr_repository(self.uri(region=region, instance_type=instance_type), partition)

    @property
    def pytorch_version(self) -> str | None:
        """The version of PyTorch in it; `None` of an own image."""
        if self.kind is TrainingImageKind.OWN:
            return None
        version = self.version or newest_version(self.kind)
        if self.kind is TrainingImageKind.SMP:
            return version
        return training_image_families()[self.kind.value].versions[version].pytorch
