"""Of what class each argument of a notebook instance is, and an example for who gave something else."""

from collections.abc import Mapping
from typing import Any

from llm_fleet.rules.inference.forms import Form, check_form, check_forms
from llm_fleet.rules.problem import Problem
from llm_fleet.sagemaker.notebook.git_repository import GitRepository

_BOOL = Form(wanted="True or False", types=(bool,), remedy="write True or False, without quotes")
_NAME = Form(wanted="a text", types=(str,), remedy="write the name in quotes", optional=True)
_TEXT = Form(wanted="a text", types=(str,), remedy="write it in quotes")
_LIST = Form(wanted="a list", types=(list, tuple), remedy="write a list, in brackets")
_FORMS: Mapping[str, Form] = {
    "network": Form(
        wanted="a network of llm-fleet",
        has=("availability_zone_ids", "compute_subnets", "reserve_addresses"),
        remedy='write FleetNetwork(self, "Network", availability_zone_ids=["usw2-az1"]), or internet=True without one',
        optional=True,
    ),
    "notebook_name": _NAME,
    "availability_zone_id": _NAME,
    "instance_type": _TEXT,
    "platform": _TEXT,
    "internet": _BOOL,
    "root_access": _BOOL,
    "repositories": _LIST,
    "pins": _LIST,
    "buckets": Form(wanted="a list of buckets", types=(list, tuple), remedy="write buckets=[bucket]", optional=True),
    "name_prefixes": _LIST,
    "encryption_key": Form(
        wanted="a KMS key", has=("key_arn",), optional=True, remedy='write FleetKey(self, "Key"), or leave it out'
    ),
}
_ITEMS: Mapping[str, Form] = {
    "repositories": Form(
        wanted="a GitRepository", types=(GitRepository,), remedy='write GitRepository(url="https://github.com/…")'
    ),
    "pins": Form(wanted="a text", types=(str,), remedy="write 'sagemaker<3'"),
    "buckets": Form(wanted="a bucket", has=("bucket_arn", "bucket_name"), remedy='write DataBucket(self, "Data")'),
    "name_prefixes": Form(wanted="a text", types=(str,), remedy="write 'my-team-'"),
}


def check_arguments(**arguments: Any) -> list[Problem]:
    """Return a problem for each of `arguments`, and each item of the lists in them, that is of another class."""
    found = check_forms(arguments, _FORMS)
    return found + [problem for name in _ITEMS for problem in _check_items(name, arguments.get(name))]


def _check_items(name: str, values: Any) -> list[Problem]:
    if not isinstance(values, list | tuple):
        return []
    items: list[Any] = [*values]
    return [problem for index, value in enumerate(items) for problem in check_form(value, _ITEMS[name], name, index)]
