"""Clusters and training runtimes for tests of their rules."""

from collections.abc import Mapping
from typing import Any

from llm_fleet.rules.terms import NodeType
from llm_fleet.rules.training.environment import check_training
from llm_fleet.rules.training.environment_place import SharedFolder, TrainingPlace
from llm_fleet.spec.cluster import NodeGroup
from llm_fleet.spec.training_runtime import AnyEnvironment, TrainingRuntime

TRN1, TRN2, GPU, CPU = "ml.trn1.32xlarge", "ml.trn2.48xlarge", "ml.p5.48xlarge", "ml.m5.xlarge"


def group(name: str, *types: str) -> NodeGroup:
    """A compute group."""
    return NodeGroup(name=name, role=NodeType.COMPUTE, instance_types=types)


def place(*groups: NodeGroup, **options: Any) -> TrainingPlace:
    """A cluster with Lustre at /fsx, whose nodes download from a mirror by default."""
    controller = NodeGroup(name="controller", role=NodeType.CONTROLLER, instance_types=[CPU])
    given: dict[str, Any] = {
        "shared": [SharedFolder(kind="open_zfs", path="/home"), SharedFolder(kind="lustre", path="/fsx")],
        "region": "us-west-2",
        "source": "mirror",
    }
    return TrainingPlace(groups=[controller, *(groups or (group("workers", TRN1),))], **{**given, **options})


def wheel(name: str, version: str, *requires: str, tag: str = "py3-none-any") -> Mapping[str, Any]:
    """An entry of a lock file."""
    file = f"https://wheels.example/{name.replace('-', '_')}-{version.replace('+', '%2B')}-{tag}.whl"
    return {
        "name": name,
        "version": version,
        "kind": "wheel",
        "system": None,
        "url": file,
        "sha256": "a" * 64,
        "size": 1,
        "requires": list(requires),
    }


NXD = (
    wheel("neuronx-cc", "2.23.6484.0+3b612583", tag="cp310-cp310-linux_x86_64"),
    wheel("torch-neuronx", "2.8.0.2.12.22436+6ff5d9a4", "libneuronxla"),
    wheel("libneuronxla", "2.2.15515.0+50c26cbd"),
    wheel("neuronx_distributed", "0.17.26814+8a9dbbd0"),
    wheel("transformers", "4.48.0", "tokenizers"),
    wheel("tokenizers", "0.21.0", tag="cp39-abi3-manylinux2014_x86_64"),
)
"""The wheels of the stack nxd in Neuron 2.28.1."""


def found(where: TrainingPlace, *environments: AnyEnvironment, **runtime: Any) -> list[tuple[str, str]]:
    """Return code and place of each problem."""
    problems = check_training(TrainingRuntime(environments=environments, **runtime), where)
    for problem in problems:
        assert problem.message
        assert problem.remedy
    return [(problem.code.value, problem.where) for problem in problems]
