"""Of what class each argument of an endpoint is, and an example for who gave something else."""

from collections.abc import Mapping
from typing import Any

from llm_fleet.rules.inference.forms import Form, check_forms
from llm_fleet.rules.problem import Problem
from llm_fleet.sagemaker.endpoint.endpoint_image import EndpointImage
from llm_fleet.sagemaker.endpoint.endpoint_model import EndpointModel
from llm_fleet.sagemaker.endpoint.neuron_settings import NeuronSettings

_FORMS: Mapping[str, Form] = {
    "model": Form(
        wanted="an EndpointModel",
        types=(EndpointModel,),
        remedy='write EndpointModel.from_hub("EleutherAI/gpt-j-6b", revision="float16"), or another place',
    ),
    "image": Form(
        wanted="an EndpointImage", types=(EndpointImage,), remedy="write EndpointImage.vllm(), or leave it out"
    ),
    "neuron": Form(
        wanted="NeuronSettings",
        types=(NeuronSettings,),
        optional=True,
        remedy="write NeuronSettings(batch_size=4, sequence_length=4096), or leave it out",
    ),
    "environment": Form(
        wanted="a mapping of names to texts",
        types=(Mapping,),
        optional=True,
        remedy='write {"SM_VLLM_MAX_MODEL_LEN": "2048"}, or leave it out',
    ),
    "network": Form(
        wanted="a network of llm-fleet",
        has=("availability_zone_ids", "compute_subnets", "reserve_addresses"),
        optional=True,
        remedy='write FleetNetwork(self, "Network", availability_zone_ids=["usw2-az1", "usw2-az2"]), or leave it out',
    ),
    "instance_type": Form(wanted="a text", types=(str,), remedy='write the type in quotes, e.g. "ml.g4dn.xlarge"'),
    "inference_ami": Form(
        wanted="a text", types=(str,), optional=True, remedy="write the AMI's name in quotes, or leave it out"
    ),
    "endpoint_name": Form(
        wanted="a text", types=(str,), optional=True, remedy='write the name in quotes, e.g. "gpt-j", or leave it out'
    ),
    "log_retention_days": Form(wanted="a whole number", types=(int,), remedy="write a number of days, e.g. 30"),
    "encryption_key": Form(
        wanted="a KMS key", has=("key_arn",), optional=True, remedy='write FleetKey(self, "Key"), or leave it out'
    ),
    "network_isolation": Form(wanted="True or False", types=(bool,), remedy="write True or False, without quotes"),
}


def check_arguments(**arguments: Any) -> list[Problem]:
    """Return a problem for each of `arguments` that is of another class, by its name."""
    return check_forms(arguments, _FORMS)
