"""Of what class each argument of a domain is, and an example for who gave something else."""

from collections.abc import Mapping
from typing import Any

from llm_fleet.rules.inference.forms import Form, check_form, check_forms
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.cluster_reach import check_reachable
from llm_fleet.rules.sagemaker.studio_terms import StudioInternet, StudioSignIn
from llm_fleet.sagemaker.studio.studio_user import StudioUser

_TEXTS = Form(wanted="a list of texts", types=(list, tuple), remedy='write e.g. ["ml.t3.medium", "ml.g5.xlarge"]')
_NUMBER = Form(wanted="a whole number", types=(int,), remedy="write e.g. 60")
_FORMS: Mapping[str, Form] = {
    "network": Form(
        wanted="a network of llm-fleet",
        has=("availability_zone_ids", "compute_subnets", "reserve_addresses"),
        remedy='write FleetNetwork(self, "Network", availability_zone_ids=["usw2-az4"]), or FleetNetwork.from_ids(…)',
        optional=True,
    ),
    "sign_in": Form(wanted="a StudioSignIn", types=(StudioSignIn,), remedy="write StudioSignIn.IAM"),
    "internet": Form(wanted="a StudioInternet", types=(StudioInternet,), remedy="write StudioInternet.VPC_ONLY"),
    "users": Form(wanted="a list of users", types=(list, tuple), remedy='write [StudioUser(name="alice")]'),
    "lustre": Form(
        wanted="FSx for Lustre",
        has=("file_system_id", "mount_name", "allow_mount_from"),
        remedy='write LustreFileSystem(self, "Fsx", network=network), or LustreFileSystem.from_attributes(…)',
        optional=True,
    ),
    "allowed_instance_types": _TEXTS,
    "code_repositories": _TEXTS,
    "pins": _TEXTS,
    "name_prefixes": _TEXTS,
    "buckets": Form(
        wanted="a list of buckets", types=(list, tuple), remedy="write [bucket], or leave it out", optional=True
    ),
    "volume_gib": _NUMBER,
    "maximum_volume_gib": _NUMBER,
    "idle_minutes": Form(wanted="a whole number, or None", types=(int,), remedy="write e.g. 60", optional=True),
    "home_efs": Form(wanted="True or False", types=(bool,), remedy="write True or False, without quotes"),
    "encryption_key": Form(
        wanted="a KMS key",
        has=("key_arn",),
        remedy='write kms.Key.from_key_arn(self, "Key", "arn:aws:kms:…")',
        optional=True,
    ),
}
_USER = Form(wanted="a StudioUser", types=(StudioUser,), remedy='write StudioUser(name="alice")')
_USER_FORMS: Mapping[str, Form] = {
    "name": Form(wanted="a text", types=(str,), remedy='write name="alice"'),
    "identity": Form(wanted="a text", types=(str,), remedy='write identity="alice@example.com"', optional=True),
    "role": Form(
        wanted="a role",
        has=("role_arn",),
        remedy='write iam.Role.from_role_arn(self, "Alice", "arn:aws:iam::…")',
        optional=True,
    ),
}


def check_arguments(**arguments: Any) -> list[Problem]:
    """Return a problem for each of `arguments` that is of another class, by its name."""
    clusters = arguments.pop("clusters")
    problems = [*check_forms(arguments, _FORMS), *check_reachable(clusters)]
    if not any(problem.path[0] == "users" for problem in problems):
        problems += [
            problem.under("users", index)
            for index, user in enumerate(arguments["users"])
            for problem in _check_user(user)
        ]
    return problems


def _check_user(user: Any) -> list[Problem]:
    return check_form(user, _USER) or [
        problem for name, form in _USER_FORMS.items() for problem in check_form(getattr(user, name), form, name)
    ]
