"""Launch templates: user data of a later version, its size, and templates that the service would not start from.

moto reads the user data of the first version only, puts the template's own tags among those of its instances, and has
no limit. EC2 takes 16 KB of user data before base64 (User Guide: "User data is limited to 16 KB, in raw form").

Source: model botocore ec2 RequestLaunchTemplateData
Source: assumption service-error-texts
"""

import base64
import binascii
from typing import Any

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.launch_templates import LaunchTemplate
from moto.ec2.responses import EC2Response
from moto.ec2.utils import parse_user_data

from local_aws.resources.moto_fixes.kept_members import before, once

_LIMIT = 16 * 1024


def install() -> None:
    """Check and complete launch templates."""
    if not once(LaunchTemplate, "rules"):
        return
    before(EC2Response, "create_launch_template", _check)
    before(EC2Response, "create_launch_template_version", _check)
    LaunchTemplate.create_version = _with_user_data(LaunchTemplate.create_version)  # type: ignore[method-assign]


def _check(_: Any, given: dict[str, Any]) -> None:
    data: dict[str, Any] = given.get("LaunchTemplateData", {})
    size = _size(str(data.get("UserData", "")))
    if size > _LIMIT:
        raise EC2ClientError("InvalidParameterValue", f"User data is limited to {_LIMIT} bytes; given are {size}")
    interfaces: list[Any] = data.get("NetworkInterfaces", [])
    if interfaces and data.get("SecurityGroupIds"):
        raise EC2ClientError(
            "InvalidParameterCombination",
            "Network interfaces and an instance-level security groups may not be specified on the same request",
        )


def _size(user_data: str) -> int:
    try:
        return len(base64.b64decode(user_data, validate=True))
    except binascii.Error as error:
        raise EC2ClientError("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.") from error


def _with_user_data(as_moto_does: Any) -> Any:
    def create_version(self: Any, data: dict[str, Any], description: str) -> Any:
        text = data.get("UserData")
        tags = [one for one in data.get("TagSpecifications", []) if one.get("ResourceType") != "launch-template"]
        data = {**data, **({"TagSpecifications": tags} if tags else {})}
        if text is None:
            data.pop("UserData", None)
        elif isinstance(text, str):
            data["UserData"] = parse_user_data(text)
        return as_moto_does(self, data, description)

    return create_version
