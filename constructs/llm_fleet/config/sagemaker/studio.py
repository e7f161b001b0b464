"""SageMaker Studio."""

from collections.abc import Mapping
from typing import ClassVar, Self

from pydantic import Field, model_validator

from llm_fleet.catalog.notebook import notebook_facts
from llm_fleet.catalog.studio import studio_facts
from llm_fleet.config.sagemaker.studio_user import StudioUserConfig
from llm_fleet.config.sagemaker.studio_values import StudioInstanceName
from llm_fleet.rules.sagemaker.studio_terms import StudioSignIn
from llm_fleet.spec.model import FleetModel, name_entries
from llm_fleet.spec.notebook import IdleMinutes
from llm_fleet.spec.values import Gibibytes, KeyArn

_FACTS = studio_facts()


class StudioConfig(FleetModel):
    """A domain of SageMaker Studio, and who works in it."""

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

    users: Mapping[str, StudioUserConfig] = Field(default={}, examples=["{alice: {uid: 10001}}"])
    """Who works in it, by name. Default: nobody yet."""
    sign_in: StudioSignIn = StudioSignIn.IAM
    """`IAM`, or `SSO` for IAM Identity Center. Default: `IAM`."""
    instance_type: StudioInstanceName = Field(default=_FACTS.default_instance, alias="instance")
    """What a new application runs on. Default: `ml.t3.medium`."""
    allowed_instance_types: tuple[StudioInstanceName, ...] = Field(
        default=(), alias="instances", examples=[["ml.t3.medium", "ml.g5.xlarge"]]
    )
    """What people may choose. Default: all types."""
    idle_minutes: IdleMinutes = Field(default=_FACTS.default_idle_minutes, alias="idle", examples=["60 minutes"])
    """An idle application ends after so long, or `never`. Default: `60 minutes`, the shortest there is."""
    volume_gib: Gibibytes = Field(default=_FACTS.default_volume_gib, alias="volume")
    """Volume of a new space. Default: `20 GiB`."""
    maximum_volume_gib: Gibibytes = Field(default=_FACTS.default_maximum_volume_gib, alias="largest_volume")
    """The largest that people may choose. Default: `100 GiB`."""
    home_efs: bool = Field(default=False, alias="home")
    """Whether there are home directories on EFS, beside the volumes of spaces. Default: no."""
    mount_fsx: bool = Field(default=True, alias="fsx")
    """Whether people can attach the fleet's FSx for Lustre to spaces, at /fsx. Default: yes, where there is one."""
    lustre_directory: str = Field(default="/", alias="fsx_directory")
    """What of it they see; the directory must be there. Default: `/`, all."""
    code_repositories: tuple[str, ...] = Field(
        default=(), alias="repositories", examples=[["https://github.com/huggingface/notebooks.git"]]
    )
    """Git repositories that are offered to be cloned, up to 10. Default: none."""
    bucket_keys: tuple[str, ...] = Field(default=(), alias="buckets", examples=[["data"]])
    """Which of `storage.buckets` people work with; the first is the SDK's default bucket. Default: one of its own."""
    pins: tuple[str, ...] = notebook_facts().default_pins
    """What pip is held to. Default: `[sagemaker<3]`, with which published notebooks run."""
    name_prefixes: tuple[str, ...] = Field(
        default=notebook_facts().sdk_name_prefixes, alias="prefixes", examples=[["my-team-"]]
    )
    """How names of jobs, models and endpoints begin that people may make and delete. Default: `huggingface-`,
    `pytorch-` and `tensorflow-`, which the SDK writes."""
    clusters: tuple[str, ...] = ()
    """Clusters of the fleet on whose nodes people open shells from it. Default: none."""
    internet: bool = False
    """Whether applications take SageMaker's own way to the internet, past the VPC. Default: no, the network's."""
    kms_key_arn: KeyArn | None = Field(default=None, alias="key")
    """ARN of the KMS key of volumes and home directories; another one is another Studio. Default: the fleet's own."""
    domain_name: str | None = Field(default=None, alias="name")
    """Its name; another one is another Studio. Default: the fleet's, with `-studio`."""
    tags: Mapping[str, str] = {}
    """Tags of Studio, and of what people make in it, next to those of the fleet. Default: none."""

    @model_validator(mode="after")
    def _tell_entries(self) -> Self:
        name_entries(self.users)
        return self
