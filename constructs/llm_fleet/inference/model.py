"""The model that a service serves."""

from dataclasses import dataclass

from aws_cdk import aws_s3 as s3

from llm_fleet.inference.model_mount import ModelMount
from llm_fleet.inference.model_shape import ModelShape
from llm_fleet.rules.inference.forms import check_attributes, check_form, member_of, passing_over, wrong_names
from llm_fleet.rules.inference.model import S3_SCHEME, bucket_and_prefix, check_model
from llm_fleet.rules.inference.model_cache import default_cache_gib
from llm_fleet.rules.inference.model_mount import check_mount, check_token_key
from llm_fleet.rules.inference.model_shape import known_shape
from llm_fleet.rules.inference.part_forms import LOCATION, MODEL, SOURCE
from llm_fleet.rules.inference.protocols import ShapeLike
from llm_fleet.rules.inference.terms import ModelSource
from llm_fleet.rules.problem import Problem, raise_problems

_HOST_PATH = "/mnt/llm-fleet/model"
_CONTAINER_PATH = "/model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Where the model is. Make one with `from_s3`, `from_bucket`, `from_hub` or `in_image`."""

    source: ModelSource
    """Where the server finds it."""
    location: str
    """`s3://bucket/prefix`, an id of the Hub, or a path in the image."""
    revision: str | None = None
    """Branch, tag or commit on the Hub. Default: the newest of its main branch."""
    token_secret_arn: str | None = None
    """ARN of the secret whose text is the Hub's token. Default: none, for a model that everybody may fetch."""
    compiled: bool = True
    """Whether it was exported for Neuron already."""
    shape: ShapeLike | None = None
    """How large it is."""
    served_name: str | None = None
    """What clients write as `model`. Default: the service's name."""
    key_arn: str | None = None
    """KMS key of the bucket. Default: none, for a bucket encrypted by S3 itself."""
    token_key_arn: str | None = None
    """KMS key of the secret with the Hub's token. Default: none, for Secrets Manager's own."""
    cache_gib: int | None = None
    """Size of the cache on the host, in GiB. Default: a tenth more than the weights."""

    def __post_init__(self) -> None:
        """Look its size up by its name, and raise `FleetError` with all that is wrong.

        The codes are LF710 to LF717, LF719 and LF724.
        """
        object.__setattr__(self, "source", member_of(ModelSource, self.source))
        raise_problems(self._check_place(), subject="Model")
        if self.shape is None:
            object.__setattr__(self, "shape", known_shape(self.location))
        of_forms = check_attributes(self, MODEL)
        told = wrong_names(of_forms)
        known: Model = passing_over(self, told)
        problems = [
            *of_forms,
            *(check_model(known) if "shape" not in told else ()),
            *check_mount(self.source, key_arn=known.key_arn, cache_gib=known.cache_gib),
            *check_token_key(self.source, known.token_key_arn),
        ]
        raise_problems(problems, subject="Model")

    @classmethod
    def from_s3(
        cls,
        uri: str,
        *,
        compiled: bool = True,
        shape: ModelShape | None = None,
        served_name: str | None = None,
        key_arn: str | None = None,
        cache_gib: int | None = None,
    ) -> "Model":
        """Return the model in the folder `uri`, `s3://bucket/prefix`, which each host mounts read-only.

        - `compiled`: default, it was exported for Neuron, as `ModelExport` does: compiling takes half an hour and more
          and a host of more memory, at each start of a task anew. What it was compiled for is compared with what the
          server asks for before the service starts.
        - `shape`: default, that of the model whose name ends the URI, e.g. `tanuki-8b`.
        - `key_arn`: the bucket's own KMS key, which hosts may then decrypt with. Default: none.
        - `cache_gib`: how much of the model a host keeps on its disk; 0 for nothing. Default: all of it, so that a task
          that is started again reads nothing from S3.
        """
        return cls(
            source=ModelSource.S3,
            location=uri,
            compiled=compiled,
            shape=shape,
            served_name=served_name,
            key_arn=key_arn,
            cache_gib=cache_gib,
        )

    @classmethod
    def from_bucket(
        cls,
        bucket: s3.IBucket | s3.Bucket,
        prefix: str,
        *,
        compiled: bool = True,
        shape: ModelShape | None = None,
        served_name: str | None = None,
        cache_gib: int | None = None,
    ) -> "Model":
        """Return the model below `prefix` in a bucket of this app or an imported one, as `from_s3` does.

        The bucket's own KMS key, where it has one, is known by itself.
        """
        key = bucket.encryption_key
        return cls.from_s3(
            f"{S3_SCHEME}{bucket.bucket_name}/{prefix.strip('/')}",
            compiled=compiled,
            shape=shape,
            served_name=served_name,
            key_arn=key.key_arn if key else None,
            cache_gib=cache_gib,
        )

    @classmethod
    def from_hub(
        cls,
        id: str,
        *,
        revision: str | None = None,
        token_secret_arn: str | None = None,
        token_key_arn: str | None = None,
        compiled: bool = False,
        shape: ModelShape | None = None,
        served_name: str | None = None,
    ) -> "Model":
        """Return the model `owner/name` on the Hugging Face Hub, which each task fetches when it starts.

        - `revision`: name a commit, so that all tasks serve the same. Default: the main branch as it is then.
        - `token_secret_arn`: a Secrets Manager secret whose whole text is a token that may read the model. It reaches
          the server as a secret of the task, and is in no template. Default: none.
        - `token_key_arn`: the secret's own KMS key, which ECS may then decrypt with. Default: none.
        - `compiled`: default, it is a plain checkpoint; the server then looks for a compiled one in the Hub's cache.
        - `shape`: default, that of the model by its name.
        """
        return cls(
            source=ModelSource.HUB,
            location=id,
            revision=revision,
            token_secret_arn=token_secret_arn,
            token_key_arn=token_key_arn,
            compiled=compiled,
            shape=shape,
            served_name=served_name,
        )

    @classmethod
    def in_image(
        cls, path: str, *, compiled: bool = True, shape: ModelShape | None = None, served_name: str | None = None
    ) -> "Model":
        """Return the model in the folder `path` of the container's image. Name your image in the `ModelServer`."""
        return cls(source=ModelSource.IMAGE, location=path, compiled=compiled, shape=shape, served_name=served_name)

    @property
    def mount(self) -> ModelMount | None:
        """How hosts see it; `None` for a model that is not in S3."""
        if self.source is not ModelSource.S3:
            return None
        bucket, prefix = bucket_and_prefix(self.location)
        return ModelMount(
            bucket_name=bucket,
            prefix=prefix,
            host_path=_HOST_PATH,
            container_path=_CONTAINER_PATH,
            cache_gib=self._cache_gib(),
        )

    @property
    def path(self) -> str:
        """What the server is told: a folder in the container, or the id on the Hub."""
        return _CONTAINER_PATH if self.source is ModelSource.S3 else self.location.rstrip("/")

    def _check_place(self) -> list[Problem]:
        """Return why nothing else can be told of it: what there is no place of has neither size nor name."""
        of_source = check_form(self.source, SOURCE, "source")
        return of_source or check_form(self.location, LOCATION[self.source], "location")

    def _cache_gib(self) -> int:
        return default_cache_gib(self.shape) if self.cache_gib is None else self.cache_gib
