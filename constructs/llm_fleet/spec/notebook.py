"""A SageMaker notebook instance and its Git repositories."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from llm_fleet.catalog.data_file import Limit
from llm_fleet.catalog.notebook import NotebookPlatform, notebook_facts
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.spec.model import OWN_KEY
from llm_fleet.spec.spec import SHORTHAND, Spec, Within
from llm_fleet.spec.values import Gibibytes, KeyArn, Quantity, SecretArn, Several

_FACTS = notebook_facts()
_NEVER = "never"
_IDLE = Quantity(
    noun="time",
    units={"min": 1, "minutes": 1, "h": 60, "hour": 60, "hours": 60, "days": 1440, "day": 1440},
    example="60 minutes",
    usual="minutes",
)


class _OrNever:
    """Minutes of inactivity, or `never`, which is `None` in Python. Metadata of an `int | None`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read `never`, or a number with its unit, from a fleet file."""
        number = handler(source)
        return core_schema.json_or_python_schema(
            json_schema=core_schema.no_info_before_validator_function(self._parse, number), python_schema=number
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Offer a time or `never`."""
        return {"anyOf": [_IDLE.json_schema(), {"const": _NEVER}]}

    def _parse(self, written: Any) -> int | None:
        return None if written is None or written == _NEVER else _IDLE.parse(written)


IdleMinutes = Annotated[int | None, _OrNever()]
"""Minutes, written as `60 minutes` or `2 h`; `None` for `never`."""


class _Platform:
    """Name of a platform; one created by `NotebookPlatform.of` is kept as it is. Metadata of a `str`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Accept any string."""
        return core_schema.json_or_python_schema(
            json_schema=core_schema.str_schema(), python_schema=core_schema.is_instance_schema(str)
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Offer the supported platforms; a rule checks the value."""
        return {"type": "string", "enum": list(_FACTS.living_platforms)}


def _instances(schema: dict[str, Any]) -> None:
    """Offer the instance types; a rule checks the value."""
    schema["enum"] = sorted(_FACTS.instance_type_names)


def _in_https(schema: dict[str, Any]) -> None:
    schema["pattern"] = "^https://"


class GitRepository(Spec):
    """A Git repository that is cloned when the instance starts, below `/home/ec2-user/SageMaker`."""

    url: Annotated[
        str,
        SHORTHAND,
        Field(examples=["https://github.com/aws/amazon-sagemaker-examples.git"], json_schema_extra=_in_https),
    ]
    """URL of the repository, https, without user name and password."""
    branch: str | None = None
    """Branch. Default: the default branch of the repository."""
    secret_arn: Annotated[SecretArn | None, Field(alias="secret")] = None
    """ARN of the secret with `{"username": …, "password": …}`. Default: none; the repository is public.

    The password is an access token, if the Git host supports tokens.
    """
    secret_key_arn: Annotated[KeyArn | None, Field(alias="secret_key")] = None
    """ARN of the KMS key of that secret. Default: none; Secrets Manager's own key."""


class NotebookSpec(Spec):
    """A SageMaker notebook instance. `TrainingNotebook` reports all errors in it (LF900 to LF919)."""

    other_words: ClassVar[Mapping[str, str]] = {
        "type": "write `instance`",
        "instance_type": "write `instance`",
        "volume_size": "write `volume`",
        "disk": "write `volume`",
        "repository": "write `repositories`, a list",
        "git": "write `repositories`, a list",
        "bucket": "write `buckets`, a list of keys of `storage.buckets`",
        "auto_stop": "write `idle`",
        "subnet": "write `az`: it uses the compute subnet of that AZ",
        "role": "remove it: llm-fleet creates a role with the permissions that the other keys require",
        "lifecycle": "remove it: llm-fleet's own script runs at each start",
        "name": "write the name as the notebook's key, in front of its colon",
    }

    name: Annotated[str | None, Field(alias=OWN_KEY)] = None
    """Name of the instance. Default: derived from the construct's path."""
    instance_type: Annotated[str, Field(alias="instance", json_schema_extra=_instances)] = _FACTS.default_instance_type
    """Instance type. Default: `ml.t3.medium`, the cheapest supported type."""
    platform: Annotated[NotebookPlatform | str, _Platform()] = _FACTS.default_platform
    """Platform: operating system and version of JupyterLab. Default: `notebook-al2023-v1`."""
    volume_gib: Annotated[
        Gibibytes,
        Field(alias="volume"),
        Within(
            limit=Limit(minimum=_FACTS.volume_gib.min, maximum=_FACTS.volume_gib.max),
            code=SageMakerCode.NOTEBOOK_VOLUME,
            what="`volume`",
        ),
    ] = _FACTS.volume_gib.default
    """Size of the volume for the work, which is deleted with the instance. Default: `50 GiB`."""
    repositories: Annotated[
        Several[GitRepository],
        Field(examples=[["https://github.com/aws/amazon-sagemaker-examples.git"]]),
    ] = ()
    """Git repositories that are cloned at the start; JupyterLab opens in the first. At most 4. Default: none."""
    idle_minutes: Annotated[IdleMinutes, Field(alias="idle", examples=["60 minutes"])] = _FACTS.idle_minutes.default
    """Time without activity after which the instance is stopped, or `never`. Default: `60 minutes`."""
    internet: bool = False
    """Whether it reaches the internet through SageMaker's own network. Default: no; it then needs the fleet's
    network."""
    pins: Several[str] = _FACTS.default_pins
    """Version constraints of pip on the instance. Default: `[sagemaker<3]`, with which published notebooks run."""
    name_prefixes: Annotated[Several[str], Field(alias="prefixes", examples=[["my-team-"]])] = ()
    """Prefixes of the names of jobs, models and endpoints that it may create and delete. Default: its own name, and
    `huggingface-`, `pytorch-` and `tensorflow-`, which the SDK uses."""
    availability_zone_id: Annotated[str | None, Field(alias="az")] = None
    """AZ id of its subnet. Default: the network's first AZ."""
    root_access: Annotated[bool, Field(alias="root")] = False
    """Whether users get root access. Default: no. The lifecycle script always runs as root."""
    kms_key_arn: Annotated[KeyArn | None, Field(alias="key")] = None
    """ARN of the KMS key of its volume. Default: the fleet's own key; in Python `encryption_key`."""
