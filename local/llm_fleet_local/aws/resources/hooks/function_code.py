"""Lambda functions: the code must exist, and source text in a template is zipped."""

import io
import json
import zipfile
from typing import Any

from llm_fleet_local.aws.resource_provider import NothingChanged, ResourceFailed
from llm_fleet_local.aws.resources.services import Gone
from llm_fleet_local.aws.resources.situation import Situation, Stage

_FIXED_DATE = (1980, 1, 1, 0, 0, 0)  # the same source gives the same archive


def prepare(at: Situation, properties: dict[str, Any]) -> dict[str, Any]:
    """Zip `Code.ZipFile` as `index.py` or `index.js`, by the runtime; reject an archive that does not exist."""
    code: dict[str, Any] = properties.get("Code", {})
    if "S3Key" in code and at.stage is not Stage.DELETE and properties is at.props:
        _check_archive(at, code)
    if "Role" in properties and at.stage is not Stage.DELETE and properties is at.props:
        _check_role(at, str(properties["Role"]))
    source = code.get("ZipFile")
    if not isinstance(source, str):
        return properties
    runtime = str(properties.get("Runtime", ""))
    # Source: model CloudFormation AWS::Lambda::Function (Code.ZipFile: Node.js and Python)
    # Source: assumption service-error-texts
    if not runtime.startswith(("python", "nodejs")):
        raise ResourceFailed(f"{at.spec.type}: Code.ZipFile supports only Python and Node.js runtimes, not {runtime!r}")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        name = "index.py" if runtime.startswith("python") else "index.js"
        archive.writestr(zipfile.ZipInfo(name, _FIXED_DATE), source)
    return properties | {"Code": {**code, "ZipFile": packed.getvalue()}}


def _check_role(at: Situation, role_arn: str) -> None:
    """Reject a role that Lambda cannot assume; moto accepts any existing role.

    Source: assumption services-ask-who-trusts-a-role
    """
    try:
        trusted = json.dumps(at.call("GetRole", {"RoleName": role_arn.rsplit("/", 1)[-1]}, "iam")["Role"], default=str)
    except Gone:
        trusted = ""
    if "lambda.amazonaws.com" not in trusted:
        raise NothingChanged(f"{at.spec.type}: The role defined for the function cannot be assumed by Lambda.")


def _check_archive(at: Situation, code: dict[str, Any]) -> None:
    """Reject a missing S3 object, for which moto creates a function without code.

    Source: model botocore lambda FunctionCode (S3Key)
    Source: assumption service-error-texts
    """
    try:
        at.call("HeadObject", {"Bucket": code["S3Bucket"], "Key": code["S3Key"]}, "s3")
    except Gone as error:
        where = f"s3://{code['S3Bucket']}/{code['S3Key']}"
        raise ResourceFailed(f"{at.spec.type}: Error occurred while GetObject. NoSuchKey: {where}") from error
