"""An endpoint of SageMaker: model, image and instances. `endpoint_operations` has what goes on around it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Protocol

from pydantic import Field

from llm_fleet.catalog.data_file import Limit
from llm_fleet.catalog.endpoint import endpoint_instance_names, endpoint_settings, image_kinds, inference_amis
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.problem import is_unresolved
from llm_fleet.spec.endpoint_operations import (
    DataCapture,
    EndpointAlarms,
    EndpointBudget,
    EndpointRollout,
    EndpointScaling,
)
from llm_fleet.spec.model import OWN_KEY
from llm_fleet.spec.spec import PYTHON_ONLY, Spec, Within
from llm_fleet.spec.unknown import UNKNOWN
from llm_fleet.spec.values import LIFETIME, Days, Gibibytes, KeyArn, ParameterCount, Seconds

S3_SCHEME = "s3://"
TARBALL_ENDING = ".tar.gz"
_AT_LEAST_ONE = Limit(minimum=1)
_GATED = "leave it out: SageMaker brings no secret to a container; copy a gated model into a bucket, and write `s3`"


class EndpointModelSource(StrEnum):
    """Where the model is."""

    HUB = "hub"
    """On the Hugging Face Hub; each instance downloads it when it starts."""
    S3 = "s3"
    """Files below a prefix in S3."""
    TARBALL = "tarball"
    """One `.tar.gz` in S3."""


class EndpointImageKind(StrEnum):
    """What serves the model; the image for processors, GPUs or Neuron follows from the instance."""

    VLLM = "vllm"
    TGI = "tgi"
    HUGGING_FACE = "hugging-face"


class _WithArn(Protocol):
    @property
    def key_arn(self) -> str: ...


class ModelBucket(Protocol):
    """A bucket of the app, or an imported one."""

    @property
    def bucket_name(self) -> str:
        """Its name, which may be a token."""
        ...

    @property
    def encryption_key(self) -> _WithArn | None:
        """Its KMS key; `None` where it has none of its own."""
        ...


class ModelRepository(Protocol):
    """A repository of ECR, of the app or imported."""

    @property
    def repository_arn(self) -> str:
        """Its ARN, which may be a token."""
        ...

    def repository_uri_for_tag_or_digest(self, tag_or_digest: str | None = None) -> str:
        """Return the URI of an image in it."""
        ...


class EndpointModel(Spec):
    """The model that is served: on the Hugging Face Hub, as files in S3, or packed in S3.

    In Python make one with `from_hub`, `from_s3`, `from_tarball` or `from_bucket`. A place that no model can be fetched
    from is refused (LF930).
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "uri": "write `s3`, or `tarball` for a .tar.gz archive",
        "model_data": "write `tarball`",
        "id": "write `hub`",
        "model_id": "write `hub`",
        "repo": "write `hub`",
        "token": _GATED,
        "hf_token": _GATED,
        "token_secret": _GATED,
    }

    hub_id: Annotated[str | None, Field(alias="hub")] = None
    """Its id on the Hugging Face Hub, e.g. `EleutherAI/gpt-j-6b`; each instance downloads it."""
    s3_uri: Annotated[str | None, Field(alias="s3")] = None
    """The folder of its files, e.g. `s3://my-models/gpt-j/`."""
    tarball_uri: Annotated[str | None, Field(alias="tarball")] = None
    """Its archive, e.g. `s3://my-models/gpt-j/model.tar.gz`."""
    revision: str | None = None
    """Branch, tag or commit on the Hub. Default: its main branch, which may move."""
    task: str | None = None
    """What transformers' pipeline does, e.g. `text-classification`. Default: what the model itself tells."""
    parameters: ParameterCount | None = None
    """How many weights it has, e.g. `8 B`. Default: what is known of a model of that name."""
    key_arn: Annotated[KeyArn | None, Field(alias="encryption_key")] = None
    """ARN of the KMS key of a bucket that is not the fleet's. Default: none; S3 encrypts it by itself."""

    @classmethod
    def from_shorthand(cls, written: Any) -> Any:
        """Take an address for one of S3, an archive by its ending, and what is left for an id of the Hub."""
        if not isinstance(written, str):
            return written
        if "://" not in written:
            return {"hub": written}
        return {"tarball" if written.endswith(TARBALL_ENDING) else "s3": written}

    @classmethod
    def shorthand_schemas(cls) -> list[dict[str, Any]]:
        """Offer a place of each kind."""
        return [{"type": "string", "examples": ["s3://my-models/tanuki-8b", "meta-llama/Llama-3.1-8B-Instruct"]}]

    @classmethod
    def in_python(cls) -> str:
        """Return how one is written in Python, for remedies."""
        return 'EndpointModel.from_hub("EleutherAI/gpt-j-6b", revision="float16"), or another place'

    @classmethod
    def from_hub(
        cls, id: str, *, revision: str | None = None, task: str | None = None, parameters: int | None = None
    ) -> "EndpointModel":
        """Return the model `owner/name` on the Hugging Face Hub, which each instance downloads when it starts.

        - `revision`: name a commit, so that all instances serve the same. Default: the main branch as it is then.
        - `task`: for the image `hugging-face` only. Default: the one on the model's page.

        Only models that everybody may read: SageMaker brings no secret into a container, so there is no token here.
        Copy a gated model into a bucket once, and use `from_s3`.
        """
        return cls(hub_id=id, revision=revision, task=task, parameters=parameters)

    @classmethod
    def from_s3(
        cls, uri: str, *, task: str | None = None, parameters: int | None = None, key_arn: str | None = None
    ) -> "EndpointModel":
        """Return the model whose files, `config.json` among them, are in the folder `uri`, `s3://bucket/prefix/`.

        SageMaker copies them as they are, without packing and unpacking. The bucket is in the endpoint's region.
        """
        return cls(s3_uri=uri, task=task, parameters=parameters, key_arn=key_arn)

    @classmethod
    def from_tarball(
        cls, uri: str, *, task: str | None = None, parameters: int | None = None, key_arn: str | None = None
    ) -> "EndpointModel":
        """Return the model packed in `uri`, `s3://bucket/model.tar.gz`, with `code/inference.py` where it has one.

        Only the image `hugging-face` runs such code. The bucket is in the endpoint's region.
        """
        return cls(tarball_uri=uri, task=task, parameters=parameters, key_arn=key_arn)

    @classmethod
    def from_bucket(
        cls, bucket: ModelBucket, key: str, *, task: str | None = None, parameters: int | None = None
    ) -> "EndpointModel":
        """Return the model below the prefix `key`, or in the archive `key`, in a bucket of this app or an imported one.

        The bucket's own KMS key, where it has one, is known by itself.
        """
        encryption = bucket.encryption_key
        make = cls.from_tarball if key.endswith(TARBALL_ENDING) else cls.from_s3
        return make(
            f"{S3_SCHEME}{bucket.bucket_name}/{key.strip('/')}",
            task=task,
            parameters=parameters,
            key_arn=encryption.key_arn if encryption else None,
        )

    @property
    def source(self) -> EndpointModelSource:
        """Where it is."""
        if self.hub_id is UNKNOWN:
            return UNKNOWN
        if self.hub_id is not None:
            return EndpointModelSource.HUB
        return EndpointModelSource.S3 if self.tarball_uri is None else EndpointModelSource.TARBALL

    @property
    def location(self) -> str:
        """An id of the Hub, `s3://bucket/prefix/` or `s3://bucket/model.tar.gz`."""
        return self.hub_id or self.s3_uri or self.tarball_uri or ""

    @property
    def place(self) -> str:
        """The attribute that says where it is."""
        return {EndpointModelSource.HUB: "hub_id", EndpointModelSource.S3: "s3_uri"}.get(self.source, "tarball_uri")


class EndpointImage(Spec):
    """What serves the model: one of AWS's images, or one of your own.

    Whether the image is the one for processors, GPUs or Neuron follows from the instance type, and its registry from
    the region. A version that gets no more patches is refused (LF934).
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "transformers_version": "write `kind: hugging-face` and `version`",
        "image_uri": "write `uri`",
        "framework": "write `kind`",
    }

    kind: EndpointImageKind | None = None
    """`vllm`, `tgi` or `hugging-face`. Default: `vllm` on GPUs and Neuron, `hugging-face` on processors."""
    version: str | None = None
    """Which version of it. Default: the newest that is known for what the instance computes with."""
    uri: str | None = None
    """An image of your own, in ECR of the fleet's region, in place of `kind`."""
    cuda: str | None = None
    """The CUDA that your own image was built for, e.g. `"12.4"`. Default: none is known, and no driver chosen by it."""
    repository_arn: Annotated[str | None, Field(alias=f"{PYTHON_ONLY} repository_arn")] = None
    """Where `uri` lies, when that cannot be read off it. Default: read off it."""

    @classmethod
    def from_shorthand(cls, written: Any) -> Any:
        """Take a word for a kind, and what has a slash for an image's URI."""
        if not isinstance(written, str):
            return written
        return {"uri": written} if "/" in written else {"kind": written}

    @classmethod
    def shorthand_schemas(cls) -> list[dict[str, Any]]:
        """Offer the kinds."""
        return [{"type": "string", "examples": [*image_kinds()]}]

    @classmethod
    def in_python(cls) -> str:
        """Return how one is written in Python, for remedies."""
        return "EndpointImage.vllm(), or leave it out"

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
    def from_ecr(cls, repository: ModelRepository, tag: str, *, cuda: str | None = None) -> "EndpointImage":
        """Return the image `tag`, or digest, of a repository of this app or an imported one, as `of` does."""
        uri = repository.repository_uri_for_tag_or_digest(tag)
        return cls(uri=uri, cuda=cuda, repository_arn=repository.repository_arn)


class NeuronSettings(Spec):
    """Cores, batch and length that a model on Neuron is compiled for, or was: an exported one takes no others.

    A number below 1 is refused (LF940).
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "tensor_parallel": "write `cores`",
        "batch_size": "write `batch`",
        "sequence_length": "write `length`",
    }

    cores: Annotated[
        int | None,
        Within(limit=_AT_LEAST_ONE, code=SageMakerCode.ENDPOINT_NEURON, what="number of NeuronCores"),
    ] = None
    """Over how many NeuronCores. Default: all of the instance."""
    batch_size: Annotated[
        int,
        Field(alias="batch"),
        Within(limit=_AT_LEAST_ONE, code=SageMakerCode.ENDPOINT_NEURON, what="batch size"),
    ] = 1
    """How many requests at once. Default: 1, as optimum-neuron's own."""
    sequence_length: Annotated[
        int,
        Field(alias="length"),
        Within(limit=_AT_LEAST_ONE, code=SageMakerCode.ENDPOINT_NEURON, what="sequence length"),
    ] = 2048
    """How many tokens a request and its answer have together. Default: 2048, as optimum-neuron's own."""


def _instances(schema: dict[str, Any]) -> None:
    """Offer the instance types; which there are is for the rule to say."""
    schema["enum"] = list(endpoint_instance_names())


def _amis(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [{"type": "string", "enum": [*inference_amis()]}, {"type": "null"}]


class EndpointSpec(Spec):
    """A model behind an endpoint of SageMaker.

    `HuggingFaceEndpoint` refuses what is wrong with it, all at once (LF900 to LF903, LF930 to LF959).
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "type": "write `instance`",
        "instance_type": "write `instance`",
        "instances": "write `count`",
        "initial_instance_count": "write `count`",
        "replicas": "write `count`",
        "model_data": "write `model: {tarball: s3://…}`",
        "model_id": "write `model`",
        "server": "write `image`",
        "env": "write `environment`",
        "hub": "write `model`",
        "inference_ami_version": "write `ami`",
        "disk": "write `volume`",
        "role": "leave it out: one is made, that fetches this image and this model and nothing else",
        "ttl": "write `time_to_live`",
        "autoscaling": "write `scaling`",
        "name": "write the name as the endpoint's key, in front of its colon",
    }

    name: Annotated[str | None, Field(alias=OWN_KEY)] = None
    """What callers name. Default: one made of the construct's path, which stays the same."""
    model: Annotated[
        EndpointModel,
        Field(examples=[{"hub": "EleutherAI/gpt-j-6b", "revision": "float16"}, "s3://my-models/gpt-j/"]),
    ]
    """What is served: an id of the Hub, `s3://…`, or more about it."""
    instance_type: Annotated[str, Field(alias="instance", examples=["ml.g4dn.xlarge"], json_schema_extra=_instances)]
    """On what; each instance holds the whole model."""
    instance_count: Annotated[
        int,
        Field(alias="count"),
        Within(
            limit=endpoint_settings().instance_count, code=SageMakerCode.ENDPOINT_NUMBER, what="number of instances"
        ),
    ] = 1
    """On how many. Default: 1."""
    image: EndpointImage = EndpointImage()
    """What serves: `vllm`, `tgi`, `hugging-face`, the URI of an image, or more about it. Default: by the instance."""
    neuron: NeuronSettings | None = None
    """What a model on Inferentia or Trainium is compiled for. Default: what it was exported for."""
    environment: Mapping[str, str] = {}
    """Further variables of the container, e.g. `SM_VLLM_MAX_MODEL_LEN: "2048"`. No secrets. Default: none."""
    inference_ami: Annotated[str | None, Field(alias="ami", json_schema_extra=_amis)] = None
    """What the instances boot from. Default: the oldest driver that knows the image's CUDA."""
    volume_gib: Annotated[
        Gibibytes | None,
        Field(alias="volume"),
        Within(
            limit=endpoint_settings().volume_gib,
            code=SageMakerCode.ENDPOINT_NUMBER,
            what="size of the volume in GiB",
        ),
    ] = None
    """The volume of an instance without disks of its own. Default: by the model's size."""
    download_timeout_seconds: Annotated[
        Seconds | None,
        Field(alias="download_time"),
        Within(limit=endpoint_settings().timeout_seconds, code=SageMakerCode.ENDPOINT_NUMBER, what="wait in seconds"),
    ] = None
    """How long fetching the model from S3 may take. Default: by the model's size."""
    startup_timeout_seconds: Annotated[
        Seconds | None,
        Field(alias="start_time"),
        Within(limit=endpoint_settings().timeout_seconds, code=SageMakerCode.ENDPOINT_NUMBER, what="wait in seconds"),
    ] = None
    """How long a container may take until it answers. Default: by the model's size."""
    network_isolation: Annotated[bool, Field(alias="isolated")] = False
    """Whether the container has no network at all. Default: no."""
    data_capture: DataCapture | None = None
    """What is kept of requests and answers: `s3://…`, or more about it. Default: nothing."""
    scaling: EndpointScaling | None = None
    """Between how many instances their number follows the load. Default: always `count`."""
    rollout: EndpointRollout = EndpointRollout()
    """In which steps an update takes over: `all-at-once`, `canary`, `linear` or `rolling`, or more about it."""
    time_to_live_seconds: Annotated[
        Annotated[int, LIFETIME] | None, Field(alias="time_to_live", examples=["4 hours"])
    ] = None
    """After how long the endpoint is deleted, with its configuration and its model. Default: it stays, and costs."""
    budget: EndpointBudget | None = None
    """What SageMaker may cost in a month before somebody is told: `200 USD`, or more about it. Default: none."""
    alarms: EndpointAlarms = EndpointAlarms()
    """Who is called, and from when on: the ARN of an SNS topic, or more about it. Default: nobody."""
    log_retention_days: Annotated[Days, Field(alias="logs")] = 30
    """How long logs are kept. Default: `30 days`."""

    @property
    def first_instance_count(self) -> int:
        """With how many instances it begins: its count, or the least that its scaling allows."""
        least = self.scaling.minimum if self.scaling else None
        if least is None or is_unresolved(least) or is_unresolved(self.instance_count):
            return self.instance_count
        return max(least, self.instance_count)

    @property
    def least_instance_count(self) -> int:
        """How many instances there are at least."""
        least = self.scaling.minimum if self.scaling else None
        return self.instance_count if least is None else least

    @property
    def greatest_instance_count(self) -> int:
        """How many instances there are at most."""
        return self.scaling.maximum if self.scaling else self.instance_count
