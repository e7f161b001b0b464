"""What is kept of what an endpoint is asked and answers."""

from pydantic import Field

from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import KeyArn


class EndpointDataCaptureConfig(FleetModel):
    """Requests and answers that are written to S3 (`DataCaptureLike`). They hold what users wrote."""

    percent: int = 100
    """Of a hundred requests, how many are kept: 1 to 100. Default: 100."""
    inputs: bool = Field(default=True, alias="requests")
    """Whether requests are kept. Default: yes."""
    outputs: bool = Field(default=True, alias="answers")
    """Whether answers are kept. Default: yes."""
    uri: str | None = Field(default=None, alias="to", examples=["s3://my-bucket/captured"])
    """Where: `s3://bucket/prefix`. Default: a bucket of the endpoint's own, encrypted and retained."""
    encryption_key_arn: KeyArn | None = Field(default=None, alias="key")
    """ARN of the KMS key of the bucket at `to`. Default: as that bucket encrypts by itself."""
