"""The model that an endpoint serves."""

from dataclasses import dataclass

from aws_cdk import aws_s3 as s3

from llm_fleet.rules.inference.forms import member_of
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.endpoint_forms import check_model_forms
from llm_fleet.rules.sagemaker.endpoint_model import S3_SCHEME, check_endpoint_model
from llm_fleet.rules.sagemaker.endpoint_terms import EndpointModelSource


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointModel:
    """Where the model is. Make one with `from_hub`, `from_s3`, `from_tarball` or `from_bucket`.

    Raises `FleetError` for a place that no model can be fetched from (LF930).
    """

    source: EndpointModelSource
    """Where it is."""
    location: str
    """An id of the Hub, `s3://bucket/prefix/` or `s3://bucket/model.tar.gz`."""
    revision: str | None = None
    """Branch, tag or commit on the Hub. Default: the newest of its main branch."""
    task: str | None = None
    """What transformers' pipeline does, e.g. `text-classification`. Default: what the model's page or files tell."""
    parameters: int | None = None
    """How many weights it has. Default: what is known of a model of that name; else its size is not judged."""
    key_arn: str | None = None
    """KMS key of the bucket. Default: none, for a bucket encrypted by S3 itself."""

    def __post_init__(self) -> None:
        """Raise `FleetError` with all that is wrong."""
        object.__setattr__(self, "source", member_of(EndpointModelSource, self.source))
        raise_problems(check_model_forms(self), subject="EndpointModel")
        raise_problems(check_endpoint_model(self), subject="EndpointModel")

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
        return cls(source=EndpointModelSource.HUB, location=id, revision=revision, task=task, parameters=parameters)

    @classmethod
    def from_s3(
        cls, uri: str, *, task: str | None = None, parameters: int | None = None, key_arn: str | None = None
    ) -> "EndpointModel":
        """Return the model whose files, `config.json` among them, are in the folder `uri`, `s3://bucket/prefix/`.

        SageMaker copies them as they are, without packing and unpacking. The bucket is in the endpoint's region.
        """
        return cls(source=EndpointModelSource.S3, location=uri, task=task, parameters=parameters, key_arn=key_arn)

    @classmethod
    def from_tarball(
        cls, uri: str, *, task: str | None = None, parameters: int | None = None, key_arn: str | None = None
    ) -> "EndpointModel":
        """Return the model packed in `uri`, `s3://bucket/model.tar.gz`, with `code/inference.py` where it has one.

        Only the image `hugging-face` runs such code. The bucket is in the endpoint's region.
        """
        return cls(source=EndpointModelSource.TARBALL, location=uri, task=task, parameters=parameters, key_arn=key_arn)

    @classmethod
    def from_bucket(
        cls, bucket: s3.IBucket | s3.Bucket, key: str, *, task: str | None = None, parameters: int | None = None
    ) -> "EndpointModel":
        """Return the model below the prefix `key`, or in the archive `key`, in a bucket of this app or an imported one.

        The bucket's own KMS key, where it has one, is known by itself.
        """
        encryption = bucket.encryption_key
        make = cls.from_tarball if key.endswith(".tar.gz") else cls.from_s3
        return make(
            f"{S3_SCHEME}{bucket.bucket_name}/{key.strip('/')}",
            task=task,
            parameters=parameters,
            key_arn=encryption.key_arn if encryption else None,
        )
