"""What can be checked by itself."""

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
