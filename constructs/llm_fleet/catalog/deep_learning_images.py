"""Whose registries AWS's Deep Learning Containers are in."""

from llm_fleet.catalog.data_file import load

_TABLE = "huggingface-llm"
"""The table of accounts with every region: a region's account is that of all its Deep Learning Containers."""


def deep_learning_accounts(region: str | None) -> tuple[str, ...]:
    """Return the accounts whose images jobs of `region` pull; of all regions where it is not known.

    The second one is that of the SageMaker model parallel library v2, the same in all regions that have it.
    """
    table: dict[str, str] = load("image_accounts")[_TABLE]
    own = table.values() if region is None else [table[region]] if region in table else []
    return tuple(sorted({*own, load("smp_images")["account"]}))
