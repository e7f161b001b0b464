"""A training environment of a Neuron release."""

from typing import Literal

from pydantic import Field

from llm_fleet.config.training.environment import EnvironmentConfig
from llm_fleet.rules.training.environment import EnvironmentKind


class NeuronEnvironmentConfig(EnvironmentConfig):
    """The pinned packages of one Neuron release, in a virtual environment. All must be in the lock of `downloads`."""

    kind: Literal[EnvironmentKind.NEURON] = Field(examples=["neuron"])
    """What it is made of."""
    stack: str | None = None
    """`nxd`, `nxdt`, `torchneuron` or `nemo-megatron`. Default: `nxd` on trn1, `torchneuron` on trn2."""
    release: str | None = None
    """The Neuron release, in quotes. Default: `"2.28.1"` for `nxd`, `"2.33.0"` for `torchneuron`."""
    python: str | None = None
    """The version of Python, in quotes. Default: `"3.10"` until 2.29, `"3.12"` from 2.30 on."""
    packages: tuple[str, ...] = ()
    """Further packages, each `name` or `name==version`. Default: none."""
