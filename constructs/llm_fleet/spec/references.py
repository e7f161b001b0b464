"""AWS resources that a fleet file names by id or ARN, and that can be CDK objects in Python.

    root_volume_key: Key | None = None
    '''The KMS key that encrypts the root volume. Default: a key that AWS owns.'''

A fleet file has the ARN; Python has `kms.Key(…)`, or the ARN. `KEY.name_of(value)` returns the ARN of either, and
`llm_fleet.references.key_of` the CDK object. Descriptions do not import the CDK, so its objects are recognized by their
attributes.
"""

from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated, Any, Protocol

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from llm_fleet.rules.codes import Code
from llm_fleet.spec.values import (
    KEY_ARN,
    POLICY_ARN,
    ROLE_ARN,
    SECRET_ARN,
    SECURITY_GROUP_ID,
    SUBNET_ID,
    TOPIC_ARN,
    TextForm,
    wrong_value,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reference:
    """A kind of resource that a string can name. Metadata of `… | str`."""

    noun: str
    """Noun in messages, e.g. `a KMS key`."""
    name: str
    """Noun of the string, e.g. `ARN`."""
    attribute: str
    """Attribute of the CDK object that contains the string, e.g. `key_ref.key_arn`."""
    form: TextForm | None = None
    """Format of the string. Default: not checked here; a rule checks it."""

    def name_of(self, value: Any) -> str:
        """Return the id, ARN or name of `value`; it may be a token."""
        return value if isinstance(value, str) else attrgetter(self.attribute)(value)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Accept a string in the right format, and in Python an object that has such a string."""
        text: CoreSchema = core_schema.str_schema(strict=True)
        if self.form is not None:
            text = core_schema.no_info_before_validator_function(self.form.parse, text)

        def given(value: Any, validate: core_schema.ValidatorFunctionWrapHandler) -> Any:
            if isinstance(value, str):
                return validate(value)
            if hasattr(value, self.attribute.partition(".")[0]):
                return value
            raise wrong_value(
                Code.WRONG_TYPE,
                f"this must be {self.noun}, but is of type {type(value).__name__}",
                allowed=f"{self.noun}, or its {self.name}",
                remedy=f"give {self.noun} of the CDK, or its {self.name}",
                secret=self.form is not None and self.form.secret,
            )

        return core_schema.json_or_python_schema(
            json_schema=text, python_schema=core_schema.no_info_wrap_validator_function(given, text)
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return what an editor needs to know of the text."""
        return {"type": "string"} if self.form is None else self.form.json_schema()


class _HasKeyArn(Protocol):
    @property
    def key_arn(self) -> str: ...


class _KmsKey(Protocol):
    @property
    def key_ref(self) -> _HasKeyArn: ...


class _IamRole(Protocol):
    @property
    def role_arn(self) -> str: ...


class _ManagedPolicy(Protocol):
    @property
    def managed_policy_arn(self) -> str: ...


class _Ec2Subnet(Protocol):
    @property
    def subnet_id(self) -> str: ...


class _Ec2Vpc(Protocol):
    @property
    def vpc_id(self) -> str: ...


class _Ec2SecurityGroup(Protocol):
    @property
    def security_group_id(self) -> str: ...


class _Connectable(Protocol):
    @property
    def connections(self) -> Any: ...


class _LogGroup(Protocol):
    @property
    def log_group_name(self) -> str: ...


class _S3Bucket(Protocol):
    @property
    def bucket_name(self) -> str: ...


class _SecretsManagerSecret(Protocol):
    @property
    def secret_arn(self) -> str: ...


class _SnsTopic(Protocol):
    @property
    def topic_arn(self) -> str: ...


KEY = Reference(noun="a KMS key", name="ARN", attribute="key_ref.key_arn", form=KEY_ARN)
ROLE = Reference(noun="an IAM role", name="ARN", attribute="role_arn", form=ROLE_ARN)
POLICY = Reference(noun="a managed policy", name="ARN", attribute="managed_policy_arn", form=POLICY_ARN)
VPC = Reference(noun="a VPC", name="id", attribute="vpc_id")
SUBNET = Reference(noun="a subnet", name="id", attribute="subnet_id")
SECURITY_GROUP = Reference(noun="a security group", name="id", attribute="security_group_id")
LOG_GROUP = Reference(noun="a log group", name="name", attribute="log_group_name")
BUCKET = Reference(noun="a bucket", name="s3:// URI", attribute="bucket_name")
_BUCKET_NAME = Reference(noun="a bucket", name="name", attribute="bucket_name")
SECRET = Reference(noun="a secret", name="ARN", attribute="secret_arn", form=SECRET_ARN)
TOPIC = Reference(noun="an SNS topic", name="ARN", attribute="topic_arn", form=TOPIC_ARN)
_OWN_SUBNET = Reference(noun="a subnet", name="id", attribute="subnet_id", form=SUBNET_ID)
_GUARD = Reference(noun="a security group", name="id", attribute="connections", form=SECURITY_GROUP_ID)
_OWN_GROUP = Reference(noun="a security group", name="id", attribute="security_group_id", form=SECURITY_GROUP_ID)

Key = Annotated[_KmsKey | str, KEY]
"""A KMS key, or its ARN."""
Role = Annotated[_IamRole | str, ROLE]
"""A role, or its ARN."""
Policy = Annotated[_ManagedPolicy | str, POLICY]
"""A managed policy, or its ARN."""
Vpc = Annotated[_Ec2Vpc | str, VPC]
"""A VPC, or its id."""
Subnet = Annotated[_Ec2Subnet | str, SUBNET]
"""A subnet, or its id."""
OwnSubnet = Annotated[_Ec2Subnet | str, _OWN_SUBNET]
"""A subnet, or its id, which is checked here because no rule checks it."""
SecurityGroup = Annotated[_Ec2SecurityGroup | str, SECURITY_GROUP]
"""A security group, or its id."""
OwnSecurityGroup = Annotated[_Ec2SecurityGroup | str, _OWN_GROUP]
"""A security group, or its id, which is checked here because no rule checks it."""
Guard = Annotated[_Connectable | str, _GUARD]
"""An object with security groups (`IConnectable`), or the id of a security group, to which inbound rules are added."""
LogGroup = Annotated[_LogGroup | str, LOG_GROUP]
"""A log group, or its name."""
Bucket = Annotated[_S3Bucket | str, BUCKET]
"""A bucket, or its `s3://` URI."""
NamedBucket = Annotated[_S3Bucket | str, _BUCKET_NAME]
"""A bucket, or its name."""
Secret = Annotated[_SecretsManagerSecret | str, SECRET]
"""A secret of Secrets Manager, or its ARN."""
Topic = Annotated[_SnsTopic | str, TOPIC]
"""An SNS topic, or its ARN."""
