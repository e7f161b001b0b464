"""What is kept of what an endpoint is asked and answers."""

from dataclasses import dataclass

from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.endpoint_capture import check_data_capture


@dataclass(frozen=True, slots=True, kw_only=True)
class DataCapture:
    """Requests and answers that SageMaker writes to S3, one line of JSON each, by endpoint, variant and hour.

    They hold what users wrote: think of who may read the bucket. What is captured stays when the endpoint goes.

    Raises `FleetError` for a share that is none (LF945), for neither side (LF946) and for no place in S3 (LF947).
    """

    percent: int = 100
    """Of a hundred requests, how many are kept: 1 to 100."""
    inputs: bool = True
    """Whether requests are kept."""
    outputs: bool = True
    """Whether answers are kept."""
    uri: str | None = None
    """`s3://bucket/prefix`. Default: a bucket of the endpoint's own, which is encrypted and retained."""
    encryption_key_arn: str | None = None
    """ARN of the KMS key of the bucket at `uri`. Default: as that bucket encrypts by itself.

    SageMaker writes with it, so the endpoint's role gets its use; the key's policy must let it.
    """

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        raise_problems(check_data_capture(self), subject="DataCapture")
