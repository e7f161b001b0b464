"""What the task of an export may do: read the checkpoint, write the exported model, and nothing else."""

from collections.abc import Iterator

from llm_fleet.iam.resource_permissions import read_bucket
from llm_fleet.iam.statements import Permission
from llm_fleet.inference.model_mount import model_access
from llm_fleet.lifecycle.model_checker.check import MARKER
from llm_fleet.spec.served_model import Model, ModelSource


def export_permissions(source: Model, model: Model, *, partition: str) -> tuple[Permission, ...]:
    """Return the permissions to export `source` as `model`, which is in S3."""
    read = (
        read_bucket(
            "Checkpoint", model_access(source, partition=partition), reason="the checkpoint that is exported is in S3"
        )
        if source.source is ModelSource.S3
        else ()
    )
    return (*read, *_write(model, partition))


def _write(model: Model, partition: str) -> Iterator[Permission]:
    access = model_access(model, partition=partition)
    below = f"{access.prefix}/" if access.prefix else ""
    yield Permission(
        sid="Model",
        actions=("s3:AbortMultipartUpload", "s3:ListMultipartUploadParts", "s3:PutObject"),
        resources=(access.objects_arn,),
        reason="the exported model is written below its own prefix, large files in parts",
    )
    yield Permission(
        sid="Marker",
        actions=("s3:DeleteObject",),
        resources=(f"{access.bucket_arn}/{below}{MARKER}",),
        reason="the note of an earlier export goes before anything is overwritten; nothing else is ever deleted",
    )
    if access.key_arn is not None:
        yield Permission(
            sid="ModelKey",
            actions=("kms:Decrypt", "kms:GenerateDataKey"),
            resources=(access.key_arn,),
            reason="the bucket is encrypted with a key of its own; an upload in parts decrypts what it has written",
        )
