"""`llm-fleet check`: what its parts are. The command line reads this file alone, and the rest when it runs."""

from enum import StrEnum


class Topic(StrEnum):
    """A part of the preflight, as `--only` names it."""

    QUOTAS = "quotas"
    OFFERINGS = "offerings"
    CAPACITY = "capacity"
    NETWORK = "network"
    STORAGE = "storage"
    IMAGES = "images"
    MODELS = "models"
