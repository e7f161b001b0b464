"""SageMaker Studio and its users."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from pydantic import Field

from llm_fleet.catalog.notebook import notebook_facts, studio_facts
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.spec.notebook import IdleMinutes
from llm_fleet.spec.spec import Spec, Within
from llm_fleet.spec.values import Gibibytes, KeyArn, RoleArn, Several

_FACTS = studio_facts()
_VOLUME, _LARGEST_VOLUME = (
    Within(limit=_FACTS.volume_gib, code=SageMakerCode.STUDIO_VOLUME, what=f"`{key}`")
    for key in ("volume", "largest_volume")
)


class StudioSignIn(StrEnum):
    """How users sign in to Studio (`AuthMode`); values of SageMaker's API."""

    IAM = "IAM"
    """IAM identities, which can open certain user profiles."""
    SSO = "SSO"
    """IAM Identity Center, in the same account and region; each user profile is one of its users."""


class StudioUser(Spec):
    """A user profile of Studio. Its key is its name, which cannot be changed: another name is another user.

    The name has 1 to 63 letters, digits and hyphens, no hyphen at either end; case is ignored. Delete a user's spaces
    before you delete the user.
    """

    uid: Annotated[int | None, Field(examples=[10001])] = None
    """User id in file systems, 10000 or more. Default: that of the user with the same name on one of `clusters`, if
    Studio accepts it; otherwise, and in Python, the service's own id, which is the same for all users."""
    gid: int | None = None
    """Group id, 1001 or more. Default: the user id, or the group id on the cluster."""
    identity: str | None = None
    """User name in IAM Identity Center, with `sign_in: SSO`. Default: none."""
    role_arn: Annotated[RoleArn | None, Field(alias="role")] = None
    """ARN of an existing execution role, which is not changed. Default: the role that all Studio users share.

    It must trust sagemaker.amazonaws.com for sts:AssumeRole and sts:SetSourceIdentity.
    """


def _instances(schema: dict[str, Any]) -> None:
    """Offer the instance types; a rule checks the value."""
    retired = _FACTS.retired_families
    schema["enum"] = sorted(name for name in _FACTS.instances if name.split(".")[1] not in retired)


_InstanceName = Annotated[str, Field(json_schema_extra=_instances)]


class StudioSpec(Spec):
    """A SageMaker Studio domain and its users.

    `StudioDomain` reports all errors in it together (LF900 to LF903, LF920 to LF929).
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "type": "write `instance`",
        "instance_type": "write `instance`",
        "instance_types": "write `instances`, the types that users can choose",
        "user_profiles": "write `users`",
        "profiles": "write `users`",
        "auth": "write `sign_in: IAM` or `sign_in: SSO`",
        "auth_mode": "write `sign_in: IAM` or `sign_in: SSO`",
        "auto_stop": "write `idle`",
        "efs": "write `home: true` for home directories on EFS",
        "lustre": "write `fsx: true`; the file system is that of `storage.fsx`",
        "volume_size": "write `volume`",
        "disk": "write `volume`",
        "bucket": "write `buckets`, a list of keys of `storage.buckets`",
        "git": "write `repositories`, a list of URLs",
        "role": "write `role` below a user; without it, one is created with the required permissions",
        "lifecycle": "remove it: llm-fleet's own script runs at each start",
        "az": "remove it: Studio uses the AZ of the file system that it mounts, otherwise all AZs of the network",
    }

    users: Annotated[Mapping[str, StudioUser], Field(examples=["{alice: {uid: 10001}}"])] = {}
    """User profiles, by name. Default: none."""
    sign_in: StudioSignIn = StudioSignIn.IAM
    """How users sign in: `IAM`, or `SSO` for IAM Identity Center. Default: `IAM`."""
    instance_type: Annotated[_InstanceName, Field(alias="instance")] = _FACTS.default_instance
    """Instance type of a new application. Default: `ml.t3.medium`."""
    allowed_instance_types: Annotated[
        Several[_InstanceName], Field(alias="instances", examples=[["ml.t3.medium", "ml.g5.xlarge"]])
    ] = ()
    """Instance types that users can choose. Default: all types."""
    idle_minutes: Annotated[
        IdleMinutes,
        Field(alias="idle", examples=["60 minutes"]),
        Within(limit=_FACTS.idle_minutes, code=SageMakerCode.STUDIO_IDLE, what="`idle`"),
    ] = _FACTS.default_idle_minutes
    """Idle time after which an application is stopped, or `never`. Default: `60 minutes`, the minimum."""
    volume_gib: Annotated[Gibibytes, Field(alias="volume"), _VOLUME] = _FACTS.default_volume_gib
    """Volume size of a new space. Default: `20 GiB`."""
    maximum_volume_gib: Annotated[Gibibytes, Field(alias="largest_volume"), _LARGEST_VOLUME] = (
        _FACTS.default_maximum_volume_gib
    )
    """Maximum volume size that users can choose. Default: `100 GiB`."""
    home_efs: Annotated[bool, Field(alias="home")] = False
    """Whether users have home directories on EFS, in addition to the volumes of spaces. Default: no."""
    lustre_directory: Annotated[str, Field(alias="fsx_directory")] = "/"
    """Folder of the file system that users see; it must exist. Default: `/`, the whole file system."""
    code_repositories: Annotated[
        Several[str], Field(alias="repositories", examples=[["https://github.com/huggingface/notebooks.git"]])
    ] = ()
    """Git repositories that Studio suggests for cloning, at most 10. Default: none."""
    pins: Several[str] = notebook_facts().default_pins
    """Version constraints of pip. Default: `[sagemaker<3]`, with which published notebooks run."""
    name_prefixes: Annotated[Several[str], Field(alias="prefixes", examples=[["my-team-"]])] = (
        notebook_facts().sdk_name_prefixes
    )
    """Prefixes of the names of jobs, models and endpoints that users may create and delete. Default: `huggingface-`,
    `pytorch-` and `tensorflow-`, which the SDK uses."""
    internet: bool = False
    """Whether applications reach the internet through SageMaker's own network instead of the VPC. Default: no."""
    kms_key_arn: Annotated[KeyArn | None, Field(alias="key")] = None
    """ARN of the KMS key of volumes and home directories. A change creates a new Studio domain.

    Default: the fleet's own key; in Python `encryption_key`.
    """
    domain_name: Annotated[str | None, Field(alias="name")] = None
    """Name of the domain. A change creates a new Studio domain. Default: the fleet's name with `-studio`; in Python
    derived from the construct's path."""
