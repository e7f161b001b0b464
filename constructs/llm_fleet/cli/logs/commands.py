"""`llm-fleet logs`: what it is given, and what it does."""

from llm_fleet.cli.verbs import Verbs


def add_to(verbs: Verbs) -> None:
    """Add the command to the command line."""
