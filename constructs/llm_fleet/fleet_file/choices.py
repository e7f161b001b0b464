"""Closed vocabularies that only the fleet file has."""

from enum import StrEnum


class Removal(StrEnum):
    """What becomes of a thing when its stack is deleted."""

    DESTROY = "destroy"
    RETAIN = "retain"
