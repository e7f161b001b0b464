"""A SageMaker endpoint: model, image and instances. `endpoint_operations` has data capture, scaling, rollouts and
alarms."""

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
_GATED = "remove it: SageMaker passes no secret to a container; copy a gated model into a bucket, and write `s3`"


class EndpointModelSource(StrEnum):
    """Where the model is."""

    HUB = "hub"
    """On the Hugging Face Hub; each instance downloads it when it starts."""
    S3 = "s3"
    """Files below a prefix in S3."""
    TARBALL = "tarball"
    """One `.tar.gz` in S3."""


class EndpointImageKind(StrEnum):
    """Model server of an endpoint. The instance type decides whether the image is for CPUs, GPUs or Neuron."""

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
    """The model that is served: from the Hugging Face Hub, from files in S3, or from an archive in S3.

    In Python make one with `from_hub`, `from_s3`, `from_tarball` or `from_bucket`. A location from which no model can
    be loaded is an error (LF930).
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
    """Model id on the Hugging Face Hub, e.g. `EleutherAI/gpt-j-6b`; each instance downloads the model."""
    s3_uri: Annotated[str | None, Field(alias="s3")] = None
    """S3 folder with the model's files, e.g. `s3://my-models/gpt-j/`."""
    tarball_uri: Annotated[str | None, Field(alias="tarball")] = None
    """S3 URI of the model's archive, e.g. `s3://my-models/gpt-j/model.tar.gz`."""
    revision: str | None = None
    """Branch, tag or commit on the Hub. Default: the main branch, which can change."""
    task: str | None = None
    """Task of the transformers pipeline, e.g. `text-classification`. Default: the task in the model's own metadata."""
    parameters: ParameterCount | None = None
    """Number of parameters, e.g. `8 B`. Default: derived from the model's name, if possible."""
    key_arn: Annotated[KeyArn | None, Field(alias="encryption_key")] = None
    """ARN of the KMS key of a bucket that is not part of the fleet. Default: none; S3 encrypts the bucket with its own
    key."""

    @classmethod
    def from_shorthand(cls, written: Any) -> Any:
        """Read a URI of S3 as a folder or, by its suffix, as an archive, and any other text as an id on the Hub."""
        if not isinstance(written, str):
            return written
        if "://" not in written:
            return {"hub": written}
        return {"tarball" if written.endswith(TARBALL_ENDING) else "s3": written}

    @classmethod
    def shorthand_schemas(cls) -> list[dict[str, Any]]:
        """Offer an example of each kind of location."""
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

        - `revision`: set a commit, so that all instances serve the same model. Default: the main branch at that time.
        - `task`: for the image `hugging-face` only. Default: the task on the model's page.

        Only public models: SageMaker passes no secret to a container, so no token can be set. Copy a gated model into a
        bucket once, and use `from_s3`.
        """
        return cls(hub_id=id, revision=revision, task=task, parameters=parameters)

    @classmethod
    def from_s3(
        cls, uri: str, *, task: str | None = None, parameters: int | None = None, key_arn: str | None = None
    ) -> "EndpointModel":
        """Return the model whose files, including `config.json`, are in the folder `uri`, `s3://bucket/prefix/`.

        SageMaker copies the files without packing and unpacking. The bucket must be in the endpoint's region.
        """
        return cls(s3_uri=uri, task=task, parameters=parameters, key_arn=key_arn)

    @classmethod
    def from_tarball(
        cls, uri: str, *, task: str | None = None, parameters: int | None = None, key_arn: str | None = None
    ) -> "EndpointModel":
        """Return the model in the archive `uri`, `s3://bucket/model.tar.gz`, which may contain `code/inference.py`.

        Only the image `hugging-face` runs such code. The bucket must be in the endpoint's region.
        """
        return cls(tarball_uri=uri, task=task, parameters=parameters, key_arn=key_arn)

    @classmethod
    def from_bucket(
        cls, bucket: ModelBucket, key: str, *, task: str | None = None, parameters: int | None = None
    ) -> "EndpointModel":
        """Return the model below the prefix `key`, or in the archive `key`, in a bucket of this app or an imported one.

        The KMS key is read from the bucket, if it has one.
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
        """Kind of the model's location."""
        if self.hub_id is UNKNOWN:
            return UNKNOWN
        if self.hub_id is not None:
            return EndpointModelSource.HUB
        return EndpointModelSource.S3 if self.tarball_uri is None else EndpointModelSource.TARBALL

    @property
    def location(self) -> str:
        """An id on the Hub, `s3://bucket/prefix/` or `s3://bucket/model.tar.gz`."""
        return self.hub_id or self.s3_uri or self.tarball_uri or ""

    @property
    def place(self) -> str:
        """Name of the attribute that contains the location."""
        return {EndpointModelSource.HUB: "hub_id", EndpointModelSource.S3: "s3_uri"}.get(self.source, "tarball_uri")


class EndpointImage(Spec):
    """Container image that serves the model: one of AWS's images, or your own.

    The instance type decides whether the image is for CPUs, GPUs or Neuron, and the region decides its registry. A
    version that gets no more patches is an error (LF934).
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "transformers_version": "write `kind: hugging-face` and `version`",
        "image_uri": "write `uri`",
        "framework": "write `kind`",
    }

    kind: EndpointImageKind | None = None
    """`vllm`, `tgi` or `hugging-face`. Default: `vllm` on GPUs and Neuron, `hugging-face` on CPUs."""
    version: str | None = None
    """Version of the image. Default: the newest version in the catalog for the instance type's processors."""
    uri: str | None = None
    """URI of your own image, in ECR of the fleet's region; replaces `kind`."""
    cuda: str | None = None
    """CUDA version of your own image, e.g. `"12.4"`, by which the driver is chosen. Default: none; no driver is chosen
    by it."""
    repository_arn: Annotated[str | None, Field(alias=f"{PYTHON_ONLY} repository_arn")] = None
    """ARN of the repository of `uri`, when it cannot be derived from the URI. Default: derived from `uri`."""

    @classmethod
    def from_shorthand(cls, written: Any) -> Any:
        """Read text with a slash as the URI of an image, and other text as a kind."""
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
        return "EndpointImage.vllm(), or remove it"

    @classmethod
    def usual(cls) -> "EndpointImage":
        """Return the default for the instance type: vLLM on GPUs and Neuron, transformers pipelines on CPUs."""
        return cls()

    @classmethod
    def vllm(cls, *, version: str | None = None) -> "EndpointImage":
        """Return Hugging Face's vLLM image, for text generation on GPUs and Neuron."""
        return cls(kind=EndpointImageKind.VLLM, version=version)

    @classmethod
    def tgi(cls, *, version: str | None = None) -> "EndpointImage":
        """Return Hugging Face's TGI image, on GPUs and Neuron. It is archived: models newer than 2025 do not load."""
        return cls(kind=EndpointImageKind.TGI, version=version)

    @classmethod
    def hugging_face(cls, *, version: str | None = None) -> "EndpointImage":
        """Return the image that runs transformers pipelines and `code/inference.py`; `version` is the version of
        transformers."""
        return cls(kind=EndpointImageKind.HUGGING_FACE, version=version)

    @classmethod
    def of(cls, uri: str, *, cuda: str | None = None) -> "EndpointImage":
        """Return an image by its URI in ECR of the endpoint's region. It gets the same model settings as
        `hugging_face`.

        `cuda`: the image's CUDA version, e.g. `13.0`, by which the host's driver is chosen. Default: SageMaker's own
        driver for the instance, which on g4dn, g5 and p4d is too old for CUDA 12 and later.
        """
        return cls(uri=uri, cuda=cuda)

    @classmethod
    def from_ecr(cls, repository: ModelRepository, tag: str, *, cuda: str | None = None) -> "EndpointImage":
        """Return the image with this tag or digest in a repository of this app or an imported one; see `of`."""
        uri = repository.repository_uri_for_tag_or_digest(tag)
        return cls(uri=uri, cuda=cuda, repository_arn=repository.repository_arn)


class NeuronSettings(Spec):
    """NeuronCores, batch size and sequence length that a model is compiled for. An exported model accepts only its own
    values.

    A number below 1 is an error (LF940).
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "tensor_parallel": "write `cores`",
        "batch_size": "write `batch`",
        "sequence_length": "write `length`",
    }

    cores: Annotated[
        int | None,
        Within(limit=_AT_LEAST_ONE, code=SageMakerCode.ENDPOINT_NEURON, what="`cores`"),
    ] = None
    """Number of NeuronCores that the model is split over. Default: all of the instance."""
    batch_size: Annotated[
        int,
        Field(alias="batch"),
        Within(limit=_AT_LEAST_ONE, code=SageMakerCode.ENDPOINT_NEURON, what="`batch`"),
    ] = 1
    """Requests that are processed at the same time. Default: 1, as in optimum-neuron."""
    sequence_length: Annotated[
        int,
        Field(alias="length"),
        Within(limit=_AT_LEAST_ONE, code=SageMakerCode.ENDPOINT_NEURON, what="`length`"),
    ] = 2048
    """Maximum number of tokens of a request and its answer together. Default: 2048, as in optimum-neuron."""


def _instances(schema: dict[str, Any]) -> None:
    """Offer the instance types; a rule checks the value."""
    schema["enum"] = list(endpoint_instance_names())


def _amis(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [{"type": "string", "enum": [*inference_amis()]}, {"type": "null"}]


class EndpointSpec(Spec):
    """A model behind a SageMaker endpoint.

    `HuggingFaceEndpoint` reports all errors in it together (LF900 to LF903, LF930 to LF959).
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
        "role": "remove it: llm-fleet creates a role that can read only this image and this model",
        "ttl": "write `time_to_live`",
        "autoscaling": "write `scaling`",
        "name": "write the name as the endpoint's key, in front of its colon",
    }

    name: Annotated[str | None, Field(alias=OWN_KEY)] = None
    """Name of the endpoint, for callers. Default: a name derived from the construct's path, which stays the same."""
    model: Annotated[
        EndpointModel,
        Field(examples=[{"hub": "EleutherAI/gpt-j-6b", "revision": "float16"}, "s3://my-models/gpt-j/"]),
    ]
    """The model that is served: an id on the Hub, `s3://…`, or a mapping."""
    instance_type: Annotated[str, Field(alias="instance", examples=["ml.g4dn.xlarge"], json_schema_extra=_instances)]
    """Instance type. Each instance loads the whole model."""
    instance_count: Annotated[
        int,
        Field(alias="count"),
        Within(limit=endpoint_settings().instance_count, code=SageMakerCode.ENDPOINT_NUMBER, what="`count`"),
    ] = 1
    """Number of instances. Default: 1."""
    image: EndpointImage = EndpointImage()
    """Container image: `vllm`, `tgi`, `hugging-face`, the URI of an image, or a mapping. Default: chosen by the
    instance type."""
    neuron: NeuronSettings | None = None
    """Sizes that a model on Inferentia or Trainium is compiled for. Default: those that it was exported for."""
    environment: Mapping[str, str] = {}
    """Additional environment variables of the container, e.g. `SM_VLLM_MAX_MODEL_LEN: "2048"`. No secrets. Default:
    none."""
    inference_ami: Annotated[str | None, Field(alias="ami", json_schema_extra=_amis)] = None
    """Inference AMI version of the instances. Default: the one with the oldest driver that supports the image's
    CUDA."""
    volume_gib: Annotated[
        Gibibytes | None,
        Field(alias="volume"),
        Within(
            limit=endpoint_settings().volume_gib,
            code=SageMakerCode.ENDPOINT_NUMBER,
            what="`volume`",
        ),
    ] = None
    """Size of the volume of an instance type without local disks. Default: by the model's size."""
    download_timeout_seconds: Annotated[
        Seconds | None,
        Field(alias="download_time"),
        Within(
            limit=endpoint_settings().timeout_seconds,
            code=SageMakerCode.ENDPOINT_NUMBER,
            what="`download_time`",
        ),
    ] = None
    """Timeout for downloading the model from S3. Default: by the model's size."""
    startup_timeout_seconds: Annotated[
        Seconds | None,
        Field(alias="start_time"),
        Within(
            limit=endpoint_settings().timeout_seconds,
            code=SageMakerCode.ENDPOINT_NUMBER,
            what="`start_time`",
        ),
    ] = None
    """Timeout for the container to start and answer health checks. Default: by the model's size."""
    network_isolation: Annotated[bool, Field(alias="isolated")] = False
    """Network isolation: whether the container has no network access. Default: no."""
    data_capture: DataCapture | None = None
    """Capture of requests and answers: `s3://…`, or a mapping. Default: nothing is captured."""
    scaling: EndpointScaling | None = None
    """Auto scaling: minimum and maximum number of instances. Default: always `count` instances."""
    rollout: EndpointRollout = EndpointRollout()
    """How an update shifts traffic: `all-at-once`, `canary`, `linear` or `rolling`, or a mapping. Default:
    `all-at-once`."""
    time_to_live_seconds: Annotated[
        Annotated[int, LIFETIME] | None, Field(alias="time_to_live", examples=["4 hours"])
    ] = None
    """Time after which the endpoint, its configuration and its model are deleted. Default: it stays, and costs
    money."""
    budget: EndpointBudget | None = None
    """Monthly budget for SageMaker with notifications: `200 USD`, or a mapping. Default: none."""
    alarms: EndpointAlarms = EndpointAlarms()
    """Alarm thresholds and notifications: the ARN of an SNS topic, or a mapping. Default: alarms without
    notifications."""
    log_retention_days: Annotated[Days, Field(alias="logs")] = 30
    """Retention of the logs. Default: `30 days`."""

    @property
    def first_instance_count(self) -> int:
        """Number of instances at creation: `count`, or the minimum of `scaling`."""
        least = self.scaling.minimum if self.scaling else None
        if least is None or is_unresolved(least) or is_unresolved(self.instance_count):
            return self.instance_count
        return max(least, self.instance_count)

    @property
    def least_instance_count(self) -> int:
        """Minimum number of instances."""
        least = self.scaling.minimum if self.scaling else None
        return self.instance_count if least is None else least

    @property
    def greatest_instance_count(self) -> int:
        """Maximum number of instances."""
        return self.scaling.maximum if self.scaling else self.instance_count
