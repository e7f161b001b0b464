"""The container image that an endpoint runs."""

from dataclasses import dataclass

from aws_cdk import aws_ecr as ecr

from llm_fleet.rules.inference.forms import member_of
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.endpoint_forms import check_image_forms
from llm_fleet.rules.sagemaker.endpoint_image import check_image_alone
from llm_fleet.rules.sagemaker.endpoint_terms import EndpointImageKind


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointImage:
    """What serves. Make one with `usual`, `vllm`, `tgi`, `hugging_face`, `of` or `from_ecr`.

    Whether the image is the one for processors, GPUs or Neuron follows from the instance type, and its registry from
    the region. Raises `FleetError` for a version that gets no more patches (LF934).
    """

    kind: EndpointImageKind | None = None
    """What serves. Default: vLLM on GPUs and Neuron, transformers' pipelines on processors."""
    version: str | None = None
    """Which version of it. Default: the newest in the catalog for what the instance computes with."""
    uri: str | None = None
    """An image of your own, in place of `kind`."""
    cuda: str | None = None
    """The CUDA that an image of your own was built for, e.g. `12.4`. Default: nobody knows, no AMI is chosen by it."""
    repository_arn: str | None = None
    """Where `uri` lies, when that cannot be read off it. Default: read off it."""

    def __post_init__(self) -> None:
        """Raise `FleetError` with all that is wrong."""
        object.__setattr__(self, "kind", member_of(EndpointImageKind, self.kind))
        raise_problems(check_image_forms(self), subject="EndpointImage")
        raise_problems(check_image_alone(self), subject="EndpointImage")

    @classmethod
    def usual(cls) -> "EndpointImage":
        """Return what is usual on the instance: vLLM on GPUs and Neuron, transformers' pipelines on processors."""
        return cls()

    @classmethod
    def vllm(cls, *, version: str | None = None) -> "EndpointImage":
        """Return Hugging Face's image of vLLM, for models that write text, on GPUs and Neuron."""
        return cls(kind=EndpointImageKind.VLLM, version=version)

    @classmethod
    def tgi(cls, *, version: str | None = None) -> "EndpointImage":
        """Return Hugging Face's image of TGI, on GPUs and Neuron. It is archived: no model newer than 2025 loads."""
        return cls(kind=EndpointImageKind.TGI, version=version)

    @classmethod
    def hugging_face(cls, *, version: str | None = None) -> "EndpointImage":
        """Return the image that runs transformers' pipelines and `code/inference.py`; `version` is transformers'."""
        return cls(kind=EndpointImageKind.HUGGING_FACE, version=version)

    @classmethod
    def of(cls, uri: str, *, cuda: str | None = None) -> "EndpointImage":
        """Return an image by its URI in ECR of the endpoint's region; it is told of the model as `hugging_face` is.

        `cuda`: the CUDA it was built for, e.g. `13.0`, by which the host's driver is chosen. Default: SageMaker's own
        driver for the instance, which on g4dn, g5 and p4d is too old for any CUDA of 12 and on.
        """
        return cls(uri=uri, cuda=cuda)

    @classmethod
    def from_ecr(
        cls, repository: ecr.IRepository | ecr.Repository, tag: str, *, cuda: str | None = None
    ) -> "EndpointImage":
        """Return the image `tag`, or digest, of a repository of this app or an imported one, as `of` does."""
        uri = repository.repository_uri_for_tag_or_digest(tag)
        return cls(uri=uri, cuda=cuda, repository_arn=repository.repository_arn)
