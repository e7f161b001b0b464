"""Domains, user profiles and lifecycle configurations of Studio keep every field and follow the service's rules.

moto has domains only, with ids in a different format. It cannot update a domain, deletes one that has user profiles,
and checks neither network, role nor file system.

Source: model botocore sagemaker CreateDomain
"""

import secrets
import time
from collections.abc import Callable
from typing import Any

from moto.sagemaker.models import SageMakerModelBackend
from moto.sagemaker.responses import SageMakerResponse

from llm_fleet_local.aws.resources.moto_fixes.json_api import Rejected, install_operation, known_members
from llm_fleet_local.aws.resources.moto_fixes.kept_members import once
from llm_fleet_local.aws.resources.moto_fixes.network_rules import NetworkOf
from llm_fleet_local.aws.resources.moto_fixes.studio_rules import domain_problems, profile_problems, scripts_of

_INVALID = "ValidationException"
_KEPT = "_llm_fleet_studio"
Handler = Callable[[Any, dict[str, Any]], dict[str, Any]]


class Record:
    """A domain, a profile or a configuration. moto's own operations use `arn` and `tags`."""

    def __init__(self, kind: str, requested: dict[str, Any], arn: str, **own: Any) -> None:
        """Keep the request, and the members `own` that the service sets."""
        self.kind = kind
        self.requested = {name: value for name, value in requested.items() if name != "Tags"}
        self.tags: list[dict[str, str]] = list(requested.get("Tags", ()))
        self.arn = arn
        self.own: dict[str, Any] = {**own, "CreationTime": time.time(), "Status": "InService"}
        self.changed = time.time()

    def described(self, shape: str) -> dict[str, Any]:
        """Return the members of a `shape` of the service's model."""
        return known_members("sagemaker", shape, self.requested | self.own | {"LastModifiedTime": self.changed})

    def change(self, requested: dict[str, Any]) -> None:
        """Replace members by those of an update."""
        self.requested |= requested
        self.changed = time.time()


def install() -> None:
    """Replace moto's operations for domains, add the others, and support tags of all."""
    handlers: dict[str, Handler] = {
        "CreateDomain": _create_domain,
        "DescribeDomain": lambda response, requested: _domain(response, requested).described("DescribeDomainResponse"),
        "UpdateDomain": _update_domain,
        "DeleteDomain": _delete_domain,
        "ListDomains": lambda response, _: {"Domains": _list(response, "domain", "DomainDetails")},
        "CreateUserProfile": _create_profile,
        "DescribeUserProfile": lambda response, requested: _profile(response, requested).described(
            "DescribeUserProfileResponse"
        ),
        "UpdateUserProfile": _update_profile,
        "DeleteUserProfile": _delete_profile,
        "ListUserProfiles": _list_profiles,
        "CreateStudioLifecycleConfig": _create_script,
        "DescribeStudioLifecycleConfig": _describe_script,
        "DeleteStudioLifecycleConfig": _delete_script,
    }
    for operation, handler in handlers.items():
        install_operation(SageMakerResponse, "sagemaker", operation, handler, invalid=_INVALID)
    if once(SageMakerModelBackend, "studio_tags"):
        backend: Any = SageMakerModelBackend
        backend._get_resource_from_arn = _with_ours(backend._get_resource_from_arn)


def _with_ours(as_moto_does: Any) -> Any:
    def find(self: Any, arn: str) -> Any:
        return getattr(self, _KEPT, {}).get(arn) or as_moto_does(self, arn)

    return find


def _kept(response: Any) -> dict[str, Record]:
    """Return all resources, by ARN."""
    return response.sagemaker_backend.__dict__.setdefault(_KEPT, {})


def _of_kind(response: Any, kind: str) -> list[Record]:
    return [one for one in _kept(response).values() if one.kind == kind]


def _list(response: Any, kind: str, shape: str) -> list[dict[str, Any]]:
    return [one.described(shape) for one in _of_kind(response, kind)]


def _arn(response: Any, kind: str, name: str) -> str:
    return f"arn:aws:sagemaker:{response.region}:{response.current_account}:{kind}/{name}"


def _find(response: Any, kind: str, name: str) -> Record:
    found = _kept(response).get(_arn(response, kind, name))
    if found is None:
        # Source: model botocore sagemaker DescribeDomain (ResourceNotFound)
        # Source: model botocore sagemaker DescribeUserProfile (ResourceNotFound)
        # Source: assumption service-error-texts
        raise Rejected("ResourceNotFound", f"{kind} [{name}] does not exist.")
    return found


def _reject(problems: list[str], code: str = _INVALID) -> None:
    """Reject the request for these errors; the caller, or studio_rules.py, names the source of each.

    Source: assumption service-error-texts
    """
    if problems:
        raise Rejected(code, "; ".join(problems))


def _domain(response: Any, requested: dict[str, Any]) -> Record:
    return _find(response, "domain", requested["DomainId"])


def _create_domain(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    name = requested["DomainName"]
    taken = [one for one in _of_kind(response, "domain") if one.requested["DomainName"] == name]
    # Source: model botocore sagemaker CreateDomain (ResourceInUse)
    _reject([f"Domain with name {name} already exists. Choose a different name."] if taken else [], "ResourceInUse")
    _check_domain(response, requested)
    domain_id = f"d-{secrets.token_hex(6)}"
    arn = _arn(response, "domain", domain_id)
    url = f"https://{domain_id}.studio.{response.region}.sagemaker.aws"
    made = Record("domain", requested, arn, DomainArn=arn, DomainId=domain_id, Url=url)
    made.own["SecurityGroupIdForDomainBoundary"] = f"sg-0{secrets.token_hex(8)}"
    if requested.get("HomeEfsFileSystemCreation", "Enabled") == "Enabled":
        _create_home(response, made)
    _kept(response)[arn] = made
    return {"DomainArn": arn, "DomainId": domain_id, "Url": url}


def _create_home(response: Any, domain: Record) -> None:
    """Create a mount target in each subnet. They remain when the domain is deleted: the file system is retained.

    Source: assumption sagemaker-studio-refusals
    """
    domain.own["HomeEfsFileSystemId"] = f"fs-0{secrets.token_hex(8)}"
    network = NetworkOf(response.current_account, response.region)
    groups = domain.requested["DefaultUserSettings"].get("SecurityGroups", [])
    for subnet in domain.requested["SubnetIds"]:
        network.attach(subnet, groups, f"EFS mount target for {domain.own['HomeEfsFileSystemId']}")


def _check_domain(response: Any, requested: dict[str, Any]) -> None:
    _reject(domain_problems(requested, response.current_account, response.region, _scripts(response)))


def _scripts(response: Any) -> dict[str, str]:
    """Return the application type of each lifecycle configuration, by ARN."""
    made = _of_kind(response, "studio-lifecycle-config")
    return {one.arn: one.requested["StudioLifecycleConfigAppType"] for one in made}


def _update_domain(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    found = _domain(response, requested)
    settings = found.requested["DefaultUserSettings"] | requested.get("DefaultUserSettings", {})
    given = {name: value for name, value in requested.items() if name != "DomainId"} | {"DefaultUserSettings": settings}
    changed = given.pop("DomainSettingsForUpdate", {})
    given["DomainSettings"] = found.requested.get("DomainSettings", {}) | changed
    _check_domain(response, found.requested | given)
    found.change(given)
    if found.requested.get("HomeEfsFileSystemCreation") == "Enabled" and "HomeEfsFileSystemId" not in found.own:
        _create_home(response, found)
    return {"DomainArn": found.arn}


def _delete_domain(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    found = _domain(response, requested)
    people = [one.requested["UserProfileName"] for one in _profiles_of(response, requested["DomainId"])]
    message = f"Unable to delete Domain {requested['DomainId']} because UserProfile(s) are associated with it: "
    # Source: model botocore sagemaker DeleteDomain (ResourceInUse)
    _reject([message + ", ".join(people)] if people else [], "ResourceInUse")
    del _kept(response)[found.arn]
    return {}


def _profiles_of(response: Any, domain_id: str) -> list[Record]:
    return [one for one in _of_kind(response, "user-profile") if one.requested["DomainId"] == domain_id]


def _profile(response: Any, requested: dict[str, Any]) -> Record:
    return _find(response, "user-profile", f"{requested['DomainId']}/{requested['UserProfileName'].lower()}")


def _create_profile(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    domain, name = _domain(response, requested), requested["UserProfileName"]
    arn = _arn(response, "user-profile", f"{requested['DomainId']}/{name.lower()}")
    taken = f"UserProfile {name} of Domain {requested['DomainId']} already exists"
    # Source: model botocore sagemaker CreateUserProfile (ResourceInUse)
    _reject([taken] if arn in _kept(response) else [], "ResourceInUse")
    _reject(profile_problems(requested, domain.requested, response.current_account))
    _kept(response)[arn] = Record("user-profile", requested, arn, UserProfileArn=arn)
    return {"UserProfileArn": arn}


def _update_profile(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    found = _profile(response, requested)
    settings = found.requested.get("UserSettings", {}) | requested.get("UserSettings", {})
    after = found.requested | {"UserSettings": settings}
    _reject(profile_problems(after, _domain(response, requested).requested, response.current_account))
    found.change({"UserSettings": settings})
    return {"UserProfileArn": found.arn}


def _delete_profile(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    del _kept(response)[_profile(response, requested).arn]
    return {}


def _list_profiles(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    wanted = requested.get("DomainIdEquals")
    found = _profiles_of(response, wanted) if wanted else _of_kind(response, "user-profile")
    return {"UserProfiles": [one.described("UserProfileDetails") for one in found]}


def _create_script(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    arn = _arn(response, "studio-lifecycle-config", requested["StudioLifecycleConfigName"])
    # Source: model botocore sagemaker CreateStudioLifecycleConfig (ResourceInUse)
    _reject([f"{arn} already exists"] if arn in _kept(response) else [], "ResourceInUse")
    _kept(response)[arn] = Record("studio-lifecycle-config", requested, arn, StudioLifecycleConfigArn=arn)
    return {"StudioLifecycleConfigArn": arn}


def _script(response: Any, requested: dict[str, Any]) -> Record:
    return _find(response, "studio-lifecycle-config", requested["StudioLifecycleConfigName"])


def _describe_script(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    return _script(response, requested).described("DescribeStudioLifecycleConfigResponse")


def _delete_script(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    found = _script(response, requested)
    users = [one.own["DomainId"] for one in _of_kind(response, "domain") if found.arn in scripts_of(one.requested)]
    # Source: model botocore sagemaker DeleteStudioLifecycleConfig (ResourceInUse)
    _reject([f"{found.arn} is used by {', '.join(users)}"] if users else [], "ResourceInUse")
    del _kept(response)[found.arn]
    return {}
