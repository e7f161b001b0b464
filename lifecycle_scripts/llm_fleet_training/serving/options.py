"""Options for the server and instance type that will serve a model."""

from __future__ import annotations

import argparse
from typing import Optional

from llm_fleet_training.serving.server import Serving


def add_serving(parser: argparse.ArgumentParser) -> None:
    """Add the options; an empty value means that the option is not set."""
    parser.add_argument(
        "--server", default="", help="value of `server` in the service: tgi, hugging-face-vllm, aws-vllm, …"
    )
    parser.add_argument("--instance-type", default="", help="instance type that serves the model, e.g. inf2.xlarge")
    sizes = parser.add_argument_group("sizes, with the values of the service")
    sizes.add_argument(
        "--tensor-parallel", type=_number, default=None, help="NeuronCores; default: all NeuronCores of the instance"
    )
    sizes.add_argument("--batch-size", type=_number, default=None, help="sequences that run in parallel; default: 4")
    sizes.add_argument("--sequence-length", type=_number, default=None, help="tokens per sequence; default: 4096")


def serving_of(arguments: argparse.Namespace) -> Serving:
    """The server that the options describe; LFJ01 for a wrong value."""
    return Serving(
        arguments.server,
        arguments.instance_type,
        tensor_parallel=arguments.tensor_parallel,
        batch_size=arguments.batch_size,
        sequence_length=arguments.sequence_length,
    )


def _number(text: str) -> Optional[int]:
    if not text:
        return None
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} must be 1 or more")
    return number
