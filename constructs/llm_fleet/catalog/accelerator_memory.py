"""How much memory a GPU has."""

from llm_fleet.catalog.data_file import load


def gpu_memory_mib(family: str) -> int | None:
    """Return the MiB of one GPU of an instance family, e.g. `p5`; `None` where EC2's answer does not tell."""
    return load("accelerator_memory")["gpu_mib"].get(family)
