"""`train`: one start of a run, in every process that torchrun starts."""

from __future__ import annotations

import argparse

from llm_fleet_training import arguments as options

SUMMARY = "train a model, from its newest checkpoint on"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """All settings."""
    options.add(parser)


def run(arguments: argparse.Namespace) -> int:
    """0 at the run's end, 75 after a signal."""
    from llm_fleet_training.training.train import train

    return train(options.settings(arguments))
