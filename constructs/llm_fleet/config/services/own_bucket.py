"""Which of the fleet's own buckets a model lies in."""

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.services.model import ServedModelConfig
from llm_fleet.rules.inference.model import bucket_and_prefix
from llm_fleet.rules.inference.terms import ModelSource


def own_bucket(model: ServedModelConfig, fleet: Fleet) -> tuple[str, str] | None:
    """Return the key under `storage.buckets`, and the folder; `None` for a model that is elsewhere.

    As for links of a file system, the fleet's own bucket may be named as S3 knows it.
    """
    if model.bucket is not None:
        return (model.bucket, model.prefix or "") if model.bucket in fleet.storage.buckets else None
    if model.source is not ModelSource.S3:
        return None
    name, prefix = bucket_and_prefix(model.location)
    for key, bucket in fleet.storage.buckets.items():
        if bucket.bucket_name == name:
            return key, prefix
    return None
