"""The closed vocabularies of training."""

from enum import StrEnum


class EnvironmentKind(StrEnum):
    """What a training environment is made of."""

    NEURON = "neuron"
    """Pinned packages of one Neuron release, in a virtual environment."""
    WHEELS = "wheels"
    """Packages of the user's choice, in a virtual environment."""
    CONTAINER = "container"
    """A container image, run by Enroot and Pyxis."""
    SMP = "smp"
    """The image of the SageMaker model parallel library, likewise."""
    CONDA = "conda"
    """Archives of conda, in a prefix."""
    SERVER = "server"
    """The image of an inference server, run by Enroot and Pyxis: what its models are exported in."""

    @property
    def on_node(self) -> str:
        """The kind that nodes know: `venv`, `container` or `conda`."""
        known = {"neuron": "venv", "wheels": "venv", "smp": "container", "server": "container"}
        return known.get(self.value, self.value)


class EnvironmentUse(StrEnum):
    """What a training environment is for: a group has one of each at most."""

    JOBS = "jobs"
    """All stages of a run, but for its export."""
    EXPORT = "export"
    """The export of a run, which takes optimum-neuron, with the compiler of the server's image."""
