"""Prints every key of ParallelCluster's cluster schema, with its update policy; runs in this folder's environment.

Usage: python describe_schema.py >schema.json
"""

import json
import os
import re

os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")

from marshmallow import Schema, fields, validate
from pcluster.schemas.cluster_schema import ClusterSchema

TYPES = {"String": "str", "Boolean": "bool", "Integer": "int", "Float": "float", "Dict": "map", "Raw": "any"}


def is_many(field: fields.Field) -> bool:
    """Return whether a field is a list."""
    return isinstance(field, fields.List) or (isinstance(field, fields.Nested) and field.many)


def limits(validators: list) -> dict:
    """Return the limits of a field's validators."""
    found = {}
    for one in validators:
        if isinstance(one, validate.OneOf):
            found["one_of"] = list(one.choices)
        elif isinstance(one, validate.Range):
            found["range"] = [one.min, one.max]
        elif isinstance(one, validate.Length):
            found["length"] = [one.equal or one.min, one.equal or one.max]
        elif isinstance(one, validate.Regexp):
            found["regex"] = re.compile(one.regex).pattern
        elif isinstance(one, validate.And):
            found.update(limits(list(one.validators)))
    return found


def describe(schema: Schema, prefix: str, found: dict) -> dict:
    """Add every key of a schema below a path to `found`, and return it."""
    for name, field in schema.fields.items():
        inner = field.inner if isinstance(field, fields.List) else field
        path = f"{prefix}{field.data_key or name}{'[]' if is_many(field) else ''}"
        facts = {"type": TYPES.get(type(inner).__name__, "section")}
        if policy := field.metadata.get("update_policy"):
            facts["policy"] = policy.name
        if key := field.metadata.get("update_key"):
            facts["key"] = key
        if field.required:
            facts["required"] = True
        facts.update(limits([*inner.validators, *([] if inner is field else field.validators)]))
        found[path] = facts
        if isinstance(inner, fields.Nested):
            describe(inner.schema, f"{path}/", found)
    return found


if __name__ == "__main__":
    print(json.dumps(describe(ClusterSchema(cluster_name="any"), "", {}), indent=1))
