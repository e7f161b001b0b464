"""SageMaker Studio, and who works in it."""

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
_VOLUME = Within(limit=_FACTS.volume_gib, code=SageMakerCode.STUDIO_VOLUME, what="volume of a space of Studio, in GiB,")


class StudioSignIn(StrEnum):
    """Who tells Studio who somebody is (`AuthMode`), spelt as SageMaker's API spells it."""

    IAM = "IAM"
    """Identities of IAM, which may open certain user profiles."""
    SSO = "SSO"
    """IAM Identity Center, in the same account and region; each user profile is one of its users."""


class StudioUser(Spec):
    """A user profile of Studio. Its key is its name, for good: another name is another user.

    The name has 1 to 63 letters, digits and inner hyphens, whatever their case. The spaces of a user must be deleted
    before the user is.
    """

    uid: Annotated[int | None, Field(examples=[10001])] = None
    """User id in file systems, 10000 or more. Default: that of the user of the same name on one of `clusters`, where
    Studio takes it; else the service's own, the same for everybody. In Python the latter."""
    gid: int | None = None
    """Id of the group, 1001 or more. Default: the user id, or the group's on the cluster."""
    identity: str | None = None
    """User name in IAM Identity Center, with `sign_in: SSO`. Default: none."""
    role_arn: Annotated[RoleArn | None, Field(alias="role")] = None
    """ARN of an existing role to act with, which stays as it is. Default: the one that Studio's people share.

    It must trust sagemaker.amazonaws.com for sts:AssumeRole and sts:SetSourceIdentity.
    """


def _instances(schema: dict[str, Any]) -> None:
    """Offer the instance types; which there are is for the rule to say."""
    retired = _FACTS.retired_families
    schema["enum"] = sorted(name for name in _FACTS.instances if name.split(".")[1] not in retired)


_InstanceName = Annotated[str, Field(json_schema_extra=_instances)]


class StudioSpec(Spec):
    """A domain of SageMaker Studio, and who works in it.

    `StudioDomain` refuses what is wrong with it, all at once (LF900 to LF903, LF920 to LF929).
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "type": "write `instance`",
        "instance_type": "write `instance`",
        "instance_types": "write `instances`, those that people may choose",
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
        "git": "write `repositories`, a list of addresses",
        "role": "write `role` below a user; without one, a role is made that can do what the other keys ask for",
        "lifecycle": "leave it out: llm-fleet's own script runs at each start",
        "az": "leave it out: Studio stands where the file system does that it mounts, else in all AZs of the network",
    }

    users: Annotated[Mapping[str, StudioUser], Field(examples=["{alice: {uid: 10001}}"])] = {}
    """Who works in it, by name. Default: nobody yet."""
    sign_in: StudioSignIn = StudioSignIn.IAM
    """`IAM`, or `SSO` for IAM Identity Center. Default: `IAM`."""
    instance_type: Annotated[_InstanceName, Field(alias="instance")] = _FACTS.default_instance
    """What a new application runs on. Default: `ml.t3.medium`."""
    allowed_instance_types: Annotated[
        Several[_InstanceName], Field(alias="instances", examples=[["ml.t3.medium", "ml.g5.xlarge"]])
    ] = ()
    """What people may choose. Default: all types."""
    idle_minutes: Annotated[
        IdleMinutes,
        Field(alias="idle", examples=["60 minutes"]),
        Within(limit=_FACTS.idle_minutes, code=SageMakerCode.STUDIO_IDLE, what="time of idleness, in minutes,"),
    ] = _FACTS.default_idle_minutes
    """An idle application ends after so long, or `never`. Default: `60 minutes`, the shortest there is."""
    volume_gib: Annotated[Gibibytes, Field(alias="volume"), _VOLUME] = _FACTS.default_volume_gib
    """Volume of a new space. Default: `20 GiB`."""
    maximum_volume_gib: Annotated[Gibibytes, Field(alias="largest_volume"), _VOLUME] = _FACTS.default_maximum_volume_gib
    """The largest that people may choose. Default: `100 GiB`."""
    home_efs: Annotated[bool, Field(alias="home")] = False
    """Whether there are home directories on EFS, beside the volumes of spaces. Default: no."""
    lustre_directory: Annotated[str, Field(alias="fsx_directory")] = "/"
    """What people see of the file system; the directory must be there. Default: `/`, all."""
    code_repositories: Annotated[
        Several[str], Field(alias="repositories", examples=[["https://github.com/huggingface/notebooks.git"]])
    ] = ()
    """Git repositories that are offered to be cloned, up to 10. Default: none."""
    pins: Several[str] = notebook_facts().default_pins
    """What pip is held to. Default: `[sagemaker<3]`, with which published notebooks run."""
    name_prefixes: Annotated[Several[str], Field(alias="prefixes", examples=[["my-team-"]])] = (
        notebook_facts().sdk_name_prefixes
    )
    """How names of jobs, models and endpoints begin that people may make and delete. Default: `huggingface-`,
    `pytorch-` and `tensorflow-`, which the SDK writes."""
    internet: bool = False
    """Whether applications take SageMaker's own way to the internet, past the VPC. Default: no, the network's."""
    kms_key_arn: Annotated[KeyArn | None, Field(alias="key")] = None
    """ARN of the KMS key of volumes and home directories; another one is another Studio.

    Default: the fleet's own; in Python `encryption_key`.
    """
    domain_name: Annotated[str | None, Field(alias="name")] = None
    """Its name; another one is another Studio. Default: the fleet's, with `-studio`; in Python made of the path."""
