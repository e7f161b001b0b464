"""`train`: one start of a run; torchrun runs it in every process."""

from __future__ import annotations

import argparse

from llm_fleet_training import arguments as options

SUMMARY = "train a model, starting from its newest checkpoint"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """All settings."""
    options.add(parser)


def run(arguments: argparse.Namespace) -> int:
    """0 at the run's end, 75 after a signal."""
    from llm_fleet_training.training.train import train

    return train(options.settings(arguments))
