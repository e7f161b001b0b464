"""What a model on Neuron is compiled for."""

from collections.abc import Iterator

from llm_fleet.catalog.endpoint import EndpointInstance
from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.endpoint_protocols import EndpointImageLike, NeuronSettingsLike
from llm_fleet.rules.tokens import is_unresolved


def check_neuron_alone(settings: NeuronSettingsLike) -> list[Problem]:
    """Return what is wrong with `settings` on any instance, by attribute names."""
    numbers = {
        "cores": (settings.cores, "number of NeuronCores"),
        "batch_size": (settings.batch_size, "batch size"),
        "sequence_length": (settings.sequence_length, "sequence length"),
    }
    return [
        problem
        for name, (value, what) in numbers.items()
        for problem in check_number(value, Limit(minimum=1), SageMakerCode.ENDPOINT_NEURON, name, what=what)
    ]


def check_neuron(
    settings: NeuronSettingsLike | None, image: EndpointImageLike, instance: EndpointInstance
) -> Iterator[Problem]:
    """Return why `settings` are of no use on `instance`, at paths that begin with `neuron`."""
    if settings is None:
        return
    facts = neuron_instance(instance.ec2_name)
    if facts is None:
        yield Problem(
            code=SageMakerCode.ENDPOINT_NEURON,
            path=("neuron",),
            message=f"{instance.name} has no Neuron devices that anything could be compiled for",
            remedy="leave it out, or take an instance type such as ml.inf2.xlarge",
        )
        return
    if image.uri is not None:
        yield Problem(
            code=SageMakerCode.ENDPOINT_NEURON,
            path=("neuron",),
            message="by which variables an image of your own is told of cores, batch and length is not known here",
            remedy="leave it out, and write the image's own variables into environment",
        )
        return
    cores = settings.cores
    if cores is None or is_unresolved(cores) or not facts.tensor_parallel or cores in facts.tensor_parallel:
        return
    yield Problem(
        code=SageMakerCode.ENDPOINT_NEURON,
        path=("neuron", "cores"),
        message=f"a model cannot be spread over this many of the {facts.cores} NeuronCores of {instance.name}",
        value=cores,
        allowed=", ".join(map(str, facts.tensor_parallel)),
        remedy="write one of these, or leave it out for all cores",
    )
