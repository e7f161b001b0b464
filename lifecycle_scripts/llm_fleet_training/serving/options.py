"""The options that say by what a model will be served."""

from __future__ import annotations

import argparse
from typing import Optional

from llm_fleet_training.serving.server import Serving


def add_serving(parser: argparse.ArgumentParser) -> None:
    """Take them; an empty one is one that was not given."""
    parser.add_argument("--server", default="", help="as the service has it: tgi, hugging-face-vllm, aws-vllm, …")
    parser.add_argument("--instance-type", default="", help="what serves it, e.g. inf2.xlarge")
    sizes = parser.add_argument_group("sizes, as the service has them")
    sizes.add_argument(
        "--tensor-parallel", type=_number, default=None, help="NeuronCores; default: all of the instance"
    )
    sizes.add_argument("--batch-size", type=_number, default=None, help="sequences side by side; default: 4")
    sizes.add_argument("--sequence-length", type=_number, default=None, help="tokens of a sequence; default: 4096")


def serving_of(arguments: argparse.Namespace) -> Serving:
    """What they say; LFJ01 for what cannot be."""
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
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number
