"""What nodes with Neuron devices carry of the AWS Neuron SDK."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NeuronHost:
    """The release of the AWS Neuron SDK whose driver, runtime, collectives and tools nodes carry.

    The Python stack is that of your containers or environments; it is not installed on the host.
    """

    release: str
    """E.g. `2.28.1`; one of the catalog's."""
    install: bool = False
    """Whether nodes install what their image lacks of it, from `downloads`. `False` compares, and refuses another.

    An image owns its driver: where that is newer than the release goes with, the runtime of a later one is taken."""
