"""What an endpoint of the fleet file is made of, as values of the construct."""

from collections.abc import Mapping

from llm_fleet.config.sagemaker.endpoint import EndpointConfig
from llm_fleet.config.sagemaker.endpoint_model import EndpointModelConfig
from llm_fleet.rules.sagemaker.endpoint_terms import EndpointModelSource
from llm_fleet.sagemaker.endpoint.endpoint_image import EndpointImage
from llm_fleet.sagemaker.endpoint.endpoint_model import EndpointModel
from llm_fleet.sagemaker.endpoint.neuron_settings import NeuronSettings
from llm_fleet.storage.data_bucket import DataBucket


def endpoint_model_from(config: EndpointModelConfig, buckets: Mapping[str, DataBucket]) -> EndpointModel:
    """Return the model that `config` describes; `buckets` are the fleet's own, by their names there."""
    task, parameters = config.task, config.parameters
    if config.source is EndpointModelSource.HUB:
        return EndpointModel.from_hub(config.location, revision=config.revision, task=task, parameters=parameters)
    if config.bucket is not None:
        return EndpointModel.from_bucket(buckets[config.bucket], config.key or "", task=task, parameters=parameters)
    make = EndpointModel.from_tarball if config.source is EndpointModelSource.TARBALL else EndpointModel.from_s3
    return make(config.location, task=task, parameters=parameters, key_arn=config.key_arn)


def endpoint_image_from(config: EndpointConfig) -> EndpointImage:
    """Return what serves the endpoint that `config` describes."""
    image = config.image
    return EndpointImage(kind=image.kind, version=image.version, uri=image.uri, cuda=image.cuda)


def neuron_settings_from(config: EndpointConfig) -> NeuronSettings | None:
    """Return what the model is compiled for; `None` where nobody told."""
    neuron = config.neuron
    return neuron and NeuronSettings(
        cores=neuron.cores, batch_size=neuron.batch_size, sequence_length=neuron.sequence_length
    )
