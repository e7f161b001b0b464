"""Reads the values for templates from the emulated services."""

from urllib.parse import unquote, urlsplit

from botocore.exceptions import ClientError

from llm_fleet_local.aws.execution_roles import require
from llm_fleet_local.aws.parallelcluster.provider_template import provider_template
from llm_fleet_local.aws.resource_provider import ResourceFailed
from llm_fleet_local.aws.resources.services import Services
from llm_fleet_local.aws.template.values import TemplateError


class ServiceLookups:
    """Implements `template.lookups.Lookups` over boto3."""

    def __init__(self, endpoint: str, account: str) -> None:
        """Use the services of an account at one endpoint."""
        self._account = account
        self._client = Services(endpoint).client

    def ssm_parameter(self, region: str, name: str, version: str | None = None) -> str:
        """Return the value of a Systems Manager parameter. CloudFormation does not read secure strings.

        Source: recorded awslabs/aws-deployment-framework#339, "Unable to fetch parameters" (2021-03-21)
        Source: recorded aws/aws-cdk#15135, "have types not supported by CloudFormation" (2021-06-15)
        """
        wanted = f"{name}:{version}" if version else name
        place = f"ssm:{region}:{'' if name.startswith('/aws/service/') else self._account}"
        _require("ssm:GetParameters", f"arn:aws:{place}:parameter/{name.lstrip('/')}", region)
        try:
            found = self._client("ssm", region).get_parameter(Name=wanted)["Parameter"]
        except ClientError as error:
            raise TemplateError(f"Unable to fetch parameters [{name}] from parameter store: {error}") from error
        if found["Type"] == "SecureString":
            raise TemplateError(
                f"Parameters [{name}] referenced by template have types not supported by CloudFormation: SecureString"
            )
        return str(found["Value"])

    def secret(self, region: str, secret_id: str, stage: str | None, version_id: str | None) -> str:
        """Return the secret string of a Secrets Manager secret."""
        arn = f"arn:aws:secretsmanager:{region}:{self._account}:secret:{secret_id}-AbCdEf"
        _require("secretsmanager:GetSecretValue", secret_id if secret_id.startswith("arn:") else arn, region)
        which = {"VersionStage": stage, "VersionId": version_id}
        try:
            found = self._client("secretsmanager", region).get_secret_value(
                SecretId=secret_id, **{key: value for key, value in which.items() if value}
            )
        except ClientError as error:
            # Source: model botocore secretsmanager GetSecretValue (ResourceNotFoundException)
            raise TemplateError(f"Secrets Manager cannot find the secret {secret_id}: {error}") from error
        return str(found["SecretString"])

    def availability_zones(self, region: str) -> list[str]:
        """Return the names of a region's availability zones."""
        zones = self._client("ec2", region).describe_availability_zones()["AvailabilityZones"]
        return sorted(str(zone["ZoneName"]) for zone in zones)

    def object_text(self, url: str, region: str) -> str:
        """Return the text of an object in the emulated S3.

        Takes path style (`http://localhost:5070/bucket/key`, `https://s3.us-west-2.amazonaws.com/bucket/key`) and
        virtual-hosted style (`https://bucket.s3.us-west-2.amazonaws.com/key`). A stand-in replaces
        ParallelCluster's provider, which is in AWS's own buckets.

        Source: model botocore cloudformation TemplateURL
        Source: recorded localstack/localstack api/test_templates test_create_stack_from_s3_template_url (2023-10-11)
        """
        try:
            stand_in = provider_template(url, region)
        except LookupError as error:
            raise TemplateError(f"S3 error for {url}: {error}") from error
        if stand_in is not None:
            return stand_in
        parts = urlsplit(url)
        host, path = parts.hostname or "", unquote(parts.path).lstrip("/")
        label, _, rest = host.partition(".s3.")
        virtual = bool(rest) and not host.startswith("s3.")
        bucket, _, key = (label, "", path) if virtual else path.partition("/")
        try:
            found = self._client("s3", region).get_object(Bucket=bucket, Key=key)
        except ClientError as error:
            raise TemplateError(f"S3 error for {url}: {error}") from error
        return found["Body"].read().decode()


def _require(action: str, resource: str, region: str) -> None:
    """Raise `TemplateError` if the stack's role does not allow to read a value.

    Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-iam-servicerole.html (2026-11)
    """
    try:
        require(action, resource, region=region)
    except ResourceFailed as error:
        raise TemplateError(str(error)) from error
