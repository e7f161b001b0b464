"""A notebook instance of SageMaker, and the Git repositories on it."""

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
    """Minutes of idleness, or `never`: `None` in Python. Metadata of an `int | None`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read `never` and the unit of a fleet file."""
        number = handler(source)
        return core_schema.json_or_python_schema(
            json_schema=core_schema.no_info_before_validator_function(self._parse, number), python_schema=number
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Offer both."""
        return {"anyOf": [_IDLE.json_schema(), {"const": _NEVER}]}

    def _parse(self, written: Any) -> int | None:
        return None if written is None or written == _NEVER else _IDLE.parse(written)


IdleMinutes = Annotated[int | None, _OrNever()]
"""Minutes, written as `60 minutes` or `2 h`; `None` for `never`."""


class _Platform:
    """A platform's name; one that `NotebookPlatform.of` vouches for stays what it is. Metadata of a `str`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Take text."""
        return core_schema.json_or_python_schema(
            json_schema=core_schema.str_schema(), python_schema=core_schema.is_instance_schema(str)
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Offer the living ones; which there are is for the rule to say."""
        return {"type": "string", "enum": list(_FACTS.living_platforms)}


def _instances(schema: dict[str, Any]) -> None:
    """Offer the instance types; which there are is for the rule to say."""
    schema["enum"] = sorted(_FACTS.instance_type_names)


def _in_https(schema: dict[str, Any]) -> None:
    schema["pattern"] = "^https://"


class GitRepository(Spec):
    """A repository that is cloned when the instance starts, below `/home/ec2-user/SageMaker`."""

    url: Annotated[
        str,
        SHORTHAND,
        Field(examples=["https://github.com/aws/amazon-sagemaker-examples.git"], json_schema_extra=_in_https),
    ]
    """Where it is, over https, without user name and password."""
    branch: str | None = None
    """Default: the repository's own."""
    secret_arn: Annotated[SecretArn | None, Field(alias="secret")] = None
    """ARN of the secret with `{"username": …, "password": …}`. Default: none; everybody may read it.

    The password is a token of the host's where it has such.
    """
    secret_key_arn: Annotated[KeyArn | None, Field(alias="secret_key")] = None
    """ARN of the KMS key of that secret. Default: none, for Secrets Manager's own."""


class NotebookSpec(Spec):
    """A notebook instance of SageMaker. `TrainingNotebook` refuses what is wrong with it (LF900 to LF919)."""

    other_words: ClassVar[Mapping[str, str]] = {
        "type": "write `instance`",
        "instance_type": "write `instance`",
        "volume_size": "write `volume`",
        "disk": "write `volume`",
        "repository": "write `repositories`, a list",
        "git": "write `repositories`, a list",
        "bucket": "write `buckets`, a list of keys of `storage.buckets`",
        "auto_stop": "write `idle`",
        "subnet": "write `az`: it stands in the compute subnet of that AZ",
        "role": "leave it out: one is made, that can do what the other keys ask for",
        "lifecycle": "leave it out: llm-fleet's own script runs at each start",
        "name": "write the name as the notebook's key, in front of its colon",
    }

    name: Annotated[str | None, Field(alias=OWN_KEY)] = None
    """Name of the instance. Default: one made of the construct's path."""
    instance_type: Annotated[str, Field(alias="instance", json_schema_extra=_instances)] = _FACTS.default_instance_type
    """On what it runs. Default: `ml.t3.medium`, the cheapest living type."""
    platform: Annotated[NotebookPlatform | str, _Platform()] = _FACTS.default_platform
    """Operating system and JupyterLab. Default: `notebook-al2023-v1`."""
    volume_gib: Annotated[
        Gibibytes,
        Field(alias="volume"),
        Within(
            limit=Limit(minimum=_FACTS.volume_gib.min, maximum=_FACTS.volume_gib.max),
            code=SageMakerCode.NOTEBOOK_VOLUME,
            what="volume of a notebook instance, in GiB,",
        ),
    ] = _FACTS.volume_gib.default
    """The volume that keeps the work, and goes with the instance. Default: `50 GiB`."""
    repositories: Annotated[
        Several[GitRepository],
        Field(examples=[["https://github.com/aws/amazon-sagemaker-examples.git"]]),
    ] = ()
    """Git repositories, cloned at the start; JupyterLab opens in the first. Default: none; up to 4."""
    idle_minutes: Annotated[IdleMinutes, Field(alias="idle", examples=["60 minutes"])] = _FACTS.idle_minutes.default
    """Stopped after so long without activity, or `never`. Default: `60 minutes`."""
    internet: bool = False
    """Whether it is on the internet by SageMaker's own network. Default: no; it needs the fleet's network then."""
    pins: Several[str] = _FACTS.default_pins
    """What pip on it is held to. Default: `[sagemaker<3]`, with which published notebooks run."""
    name_prefixes: Annotated[Several[str], Field(alias="prefixes", examples=[["my-team-"]])] = ()
    """How names of jobs, models and endpoints begin that it may make and delete. Default: its own name, and
    `huggingface-`, `pytorch-` and `tensorflow-`, which the SDK writes."""
    availability_zone_id: Annotated[str | None, Field(alias="az")] = None
    """AZ id of its subnet. Default: the network's first."""
    root_access: Annotated[bool, Field(alias="root")] = False
    """Whether people become root on it. Default: no. The lifecycle script is root's in any case."""
    kms_key_arn: Annotated[KeyArn | None, Field(alias="key")] = None
    """ARN of the KMS key of its volume. Default: the fleet's own; in Python `encryption_key`."""
