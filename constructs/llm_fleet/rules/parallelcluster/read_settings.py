"""Settings of a shared storage as ParallelCluster will read them, so that rules can compare and reckon with them."""

from collections.abc import Mapping
from typing import Any

from llm_fleet.catalog.parallelcluster_schema import SECTION, SchemaKey, schema_at
from llm_fleet.rules.parallelcluster.schema_value import WrongTypeError, is_known_later, read_value
from llm_fleet.rules.parallelcluster.storage_sections import STORAGE_SECTIONS
from llm_fleet.spec.parallelcluster import SharedStorage

NOT_KNOWN = "${Token[NOT-KNOWN]}"
"""Made like a CDK token, which every rule passes over."""


def read_settings(storage: SharedStorage) -> Mapping[str, Any]:
    """Return `storage.section` with numbers and truth for texts of them, which the schema takes as well.

    A value of a wrong type, told by the schema already, and one that only CloudFormation knows are `NOT_KNOWN`.
    """
    section = schema_at(f"SharedStorage[]/{STORAGE_SECTIONS[storage.kind].section}")
    keys = section.keys if section is not None else {}
    return {name: _read(value, keys[name]) if name in keys else value for name, value in storage.section.items()}


def _read(value: Any, key: SchemaKey) -> Any:
    if is_known_later(value):
        return NOT_KNOWN
    if key.many or key.kind in (SECTION, "any"):
        return value
    try:
        return read_value(value, key.kind)
    except WrongTypeError:
        return NOT_KNOWN
