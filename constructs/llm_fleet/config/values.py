"""The types of single values in the fleet file."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from llm_fleet.catalog.instances import instances
from llm_fleet.config.quantity import DAYS, LUSTRE_SIZE, MEMORY, RATE, RATE_OF_VOLUME, RECORD_SIZE, SECONDS, SIZE
from llm_fleet.config.text_form import KEY_ARN, POLICY_ARN, ROLE_ARN, SECRET_ARN, SECURITY_GROUP_ID, SUBNET_ID

Gibibytes = Annotated[int, BeforeValidator(SIZE.parse), WithJsonSchema(SIZE.json_schema())]
"""GiB, written as `500 GiB` or `1 TiB`."""

Kibibytes = Annotated[int, BeforeValidator(RECORD_SIZE.parse), WithJsonSchema(RECORD_SIZE.json_schema())]
"""KiB, written as `128 KiB` or `1 MiB`."""

LustreGibibytes = Annotated[int, BeforeValidator(LUSTRE_SIZE.parse), WithJsonSchema(LUSTRE_SIZE.json_schema())]
"""GiB, written as `4800 GiB` or, as FSx does, `4.8 TiB`."""

MegabytesPerSecond = Annotated[int, BeforeValidator(RATE.parse), WithJsonSchema(RATE.json_schema())]
"""MB/s, written as `320 MB/s` or `24 GB/s`."""

MebibytesPerSecond = Annotated[int, BeforeValidator(RATE_OF_VOLUME.parse), WithJsonSchema(RATE_OF_VOLUME.json_schema())]
"""MiB/s, written as `250 MiB/s`."""

Mebibytes = Annotated[int, BeforeValidator(MEMORY.parse), WithJsonSchema(MEMORY.json_schema())]
"""MiB, written as `480 GiB`."""

Seconds = Annotated[int, BeforeValidator(SECONDS.parse), WithJsonSchema(SECONDS.json_schema())]
"""Seconds, written as `300 s`, `30 min`, `24 h` or `2 days`."""

Days = Annotated[int, BeforeValidator(DAYS.parse), WithJsonSchema(DAYS.json_schema())]
"""Days, written as `30 days`."""


def _instance_type_schema(schema: dict[str, Any]) -> None:
    schema["enum"] = sorted(instances())


InstanceTypeName = Annotated[str, Field(json_schema_extra=_instance_type_schema)]
"""An instance type by its `ml.` name. Which there are is for the rule to tell, and for the schema to offer."""

KeyArn = Annotated[str, BeforeValidator(KEY_ARN.parse), WithJsonSchema(KEY_ARN.json_schema())]
"""The ARN of a KMS key."""

RoleArn = Annotated[str, BeforeValidator(ROLE_ARN.parse), WithJsonSchema(ROLE_ARN.json_schema())]
"""The ARN of an IAM role."""

PolicyArn = Annotated[str, BeforeValidator(POLICY_ARN.parse), WithJsonSchema(POLICY_ARN.json_schema())]
"""The ARN of a managed policy."""

SecretArn = Annotated[str, BeforeValidator(SECRET_ARN.parse), WithJsonSchema(SECRET_ARN.json_schema())]
"""The ARN of a Secrets Manager secret."""

SecurityGroupId = Annotated[
    str, BeforeValidator(SECURITY_GROUP_ID.parse), WithJsonSchema(SECURITY_GROUP_ID.json_schema())
]
"""The id of a security group."""

SubnetId = Annotated[str, BeforeValidator(SUBNET_ID.parse), WithJsonSchema(SUBNET_ID.json_schema())]
"""The id of a subnet."""
