"""Launch templates: user data of each version, and its limit.

moto reads the user data of the first version only, adds the template's own tags to its instances, and has no limit.
"""

import base64
import binascii
from typing import Any

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.launch_templates import LaunchTemplate
from moto.ec2.responses import EC2Response
from moto.ec2.utils import parse_user_data

from llm_fleet_local.aws.resources.moto_fixes.kept_members import before, once

_LIMIT = 16 * 1024
"""In bytes, before base64."""


def install() -> None:
    """Validate launch templates, and keep the user data of each version."""
    if not once(LaunchTemplate, "rules"):
        return
    before(EC2Response, "create_launch_template", _check)
    before(EC2Response, "create_launch_template_version", _check)
    LaunchTemplate.create_version = _with_user_data(LaunchTemplate.create_version)  # type: ignore[method-assign]


def _check(_: Any, given: dict[str, Any]) -> None:
    data: dict[str, Any] = given.get("LaunchTemplateData", {})
    if _size(str(data.get("UserData", ""))) > _LIMIT:
        # Source: model botocore ec2 RequestLaunchTemplateData (UserData)
        # Source: recorded github-aws-runners/terraform-aws-github-runner#3700, code and text of the error (2024-01-02)
        raise EC2ClientError("InvalidUserData.Malformed", f"User data is limited to {_LIMIT} bytes.")


def _size(user_data: str) -> int:
    try:
        return len(base64.b64decode(user_data, validate=True))
    except binascii.Error as error:
        # Source: model botocore ec2 RequestLaunchTemplateData (UserData)
        # Source: assumption service-error-texts
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
