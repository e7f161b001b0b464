"""The files that pin the CDK CLI."""

from pathlib import Path

LOCK_FILES = ("package.json", "package-lock.json")


def lock_folder() -> Path:
    """Return the folder of `LOCK_FILES`: in the package in a wheel, the checkout otherwise."""
    packaged = Path(__file__).parent / "cdk_cli"
    return packaged if packaged.is_dir() else Path(__file__).parents[3]
