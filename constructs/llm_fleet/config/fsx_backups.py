"""Automatic backups of an FSx for Lustre file system."""

from llm_fleet.config.backups import BackupsConfig


class FsxBackupsConfig(BackupsConfig):
    """Daily backups that FSx makes by itself of a Lustre file system."""

    copy_tags: bool | None = None
    """Whether backups bear the file system's tags. A change replaces the file system. Default: no."""
