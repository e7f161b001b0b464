"""Secrets: `GenerateSecretString` uses the service's password generator, as CloudFormation does.

Source: model CloudFormation AWS::SecretsManager::Secret
Source: model botocore secretsmanager GetRandomPassword
"""

import json
from typing import Any, cast

from llm_fleet_local.aws.resources.situation import Situation, Stage


def prepare(at: Situation, properties: dict[str, Any]) -> dict[str, Any]:
    """Replace `GenerateSecretString` by a generated `SecretString` at creation; keep the secret in an update."""
    wanted = cast(dict[str, Any] | None, properties.get("GenerateSecretString"))
    if wanted is None:
        return properties
    rest = {name: value for name, value in properties.items() if name != "GenerateSecretString"}
    unchanged = at.stage is Stage.UPDATE and at.props.get("GenerateSecretString") == at.old.get("GenerateSecretString")
    if unchanged or at.stage is Stage.DELETE:
        return rest
    options = {
        name: value for name, value in wanted.items() if name not in ("SecretStringTemplate", "GenerateStringKey")
    }
    password = str(at.call("GetRandomPassword", options)["RandomPassword"])
    template = wanted.get("SecretStringTemplate")
    if template is None:
        return rest | {"SecretString": password}
    return rest | {"SecretString": json.dumps(json.loads(template) | {wanted["GenerateStringKey"]: password})}
