"""An endpoint of SageMaker."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from llm_fleet.catalog.endpoint import image_kinds, inference_amis
from llm_fleet.config.sagemaker.endpoint_alarms import EndpointAlarmsConfig
from llm_fleet.config.sagemaker.endpoint_budget import EndpointBudgetConfig
from llm_fleet.config.sagemaker.endpoint_data_capture import EndpointDataCaptureConfig
from llm_fleet.config.sagemaker.endpoint_image import EndpointImageConfig
from llm_fleet.config.sagemaker.endpoint_instance_name import EndpointInstanceName
from llm_fleet.config.sagemaker.endpoint_model import EndpointModelConfig
from llm_fleet.config.sagemaker.endpoint_neuron import EndpointNeuronConfig
from llm_fleet.config.sagemaker.endpoint_operations_short_form import or_rollout, or_sum, or_topic, or_uri
from llm_fleet.config.sagemaker.endpoint_rollout import EndpointRolloutConfig
from llm_fleet.config.sagemaker.endpoint_scaling import EndpointScalingConfig
from llm_fleet.config.sagemaker.endpoint_values import TimeToLiveSeconds
from llm_fleet.config.services.short_schema import or_text
from llm_fleet.spec.model import NamedModel
from llm_fleet.spec.values import Days, Gibibytes, Seconds


def _or_kind(schema: dict[str, Any]) -> None:
    or_text(schema)
    schema["anyOf"][1] = {"type": "string", "examples": [*image_kinds()]}


def _amis(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [{"type": "string", "enum": [*inference_amis()]}, {"type": "null"}]


class EndpointConfig(NamedModel):
    """A model behind an endpoint of SageMaker. Its key is its name, after that of the fleet."""

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

    model: EndpointModelConfig = Field(
        examples=[{"hub": "EleutherAI/gpt-j-6b", "revision": "float16"}, "s3://my-models/gpt-j/"],
        json_schema_extra=or_text,
    )
    """What is served: an id of the Hub, `s3://…`, or more about it."""
    instance_type: EndpointInstanceName = Field(alias="instance", examples=["ml.g4dn.xlarge"])
    """On what; each instance holds the whole model."""
    instance_count: int = Field(default=1, alias="count")
    """On how many. Default: 1."""
    image: EndpointImageConfig = Field(default=EndpointImageConfig(), json_schema_extra=_or_kind)
    """What serves: `vllm`, `tgi`, `hugging-face`, the URI of an image, or more about it. Default: by the instance."""
    neuron: EndpointNeuronConfig | None = None
    """What a model on Inferentia or Trainium is compiled for. Default: what it was exported for."""
    environment: Mapping[str, str] = {}
    """Further variables of the container, e.g. `SM_VLLM_MAX_MODEL_LEN: "2048"`. Default: none."""
    inference_ami: str | None = Field(default=None, alias="ami", json_schema_extra=_amis)
    """What the instances boot from. Default: the oldest driver that knows the image's CUDA."""
    volume_gib: Gibibytes | None = Field(default=None, alias="volume")
    """The volume of an instance without disks of its own. Default: by the model's size."""
    download_timeout_seconds: Seconds | None = Field(default=None, alias="download_time")
    """How long fetching the model from S3 may take. Default: by the model's size."""
    startup_timeout_seconds: Seconds | None = Field(default=None, alias="start_time")
    """How long a container may take until it answers. Default: by the model's size."""
    in_network: bool | None = Field(default=None, alias="network")
    """Whether the instances stand in the fleet's network. Default: they do where the fleet has one."""
    network_isolation: bool = Field(default=False, alias="isolated")
    """Whether the container has no network at all. Default: no."""
    data_capture: EndpointDataCaptureConfig | None = Field(default=None, json_schema_extra=or_uri)
    """What is kept of requests and answers: `s3://…`, or more about it. Default: nothing."""
    scaling: EndpointScalingConfig | None = None
    """Between how many instances their number follows the load. Default: always `count`."""
    rollout: EndpointRolloutConfig = Field(default=EndpointRolloutConfig(), json_schema_extra=or_rollout)
    """In which steps an update takes over: `all-at-once`, `canary`, `linear` or `rolling`, or more about it."""
    time_to_live_seconds: TimeToLiveSeconds | None = Field(default=None, alias="time_to_live", examples=["4 hours"])
    """After how long the endpoint is deleted, with its configuration and its model. Default: it stays, and costs."""
    budget: EndpointBudgetConfig | None = Field(default=None, json_schema_extra=or_sum)
    """What SageMaker may cost in a month before somebody is told: `200 USD`, or more about it. Default: none."""
    alarms: EndpointAlarmsConfig = Field(default=EndpointAlarmsConfig(), json_schema_extra=or_topic)
    """Who is called, and from when on: the ARN of an SNS topic, or more about it. Default: nobody."""
    log_retention_days: Days = Field(default=30, alias="logs")
    """How long logs are kept. Default: `30 days`."""
    tags: Mapping[str, str] = {}
    """Tags of the endpoint, next to those of the fleet. Default: none."""
