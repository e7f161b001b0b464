"""A folder of an FSx for Lustre file system that mirrors S3."""

from enum import StrEnum

from pydantic import Field

from llm_fleet.spec.model import FleetModel


class ChangeKind(StrEnum):
    """What change is carried over."""

    NEW = "NEW"
    CHANGED = "CHANGED"
    DELETED = "DELETED"


class DataRepositoryConfig(FleetModel):
    """A folder of the file system that mirrors a bucket or a prefix of it."""

    file_system_path: str = Field(alias="path", examples=["/data"])
    """The folder, from the file system's root, e.g. `/data`."""
    data_repository_path: str = Field(alias="s3", examples=["s3://my-data/"])
    """The bucket, with or without a prefix, e.g. `s3://my-data/llama/`."""
    auto_import: tuple[ChangeKind, ...] = Field(
        default=(ChangeKind.NEW, ChangeKind.CHANGED, ChangeKind.DELETED), alias="import"
    )
    """Changes in S3 that show in the folder. Default: all three."""
    auto_export: tuple[ChangeKind, ...] = Field(default=(), alias="export")
    """Changes in the folder that are written back to S3. Default: none."""
    import_existing: bool = True
    """Whether what lies in S3 already is listed in the folder at once. Default: yes."""
