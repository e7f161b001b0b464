"""Lambda functions keep every setting (logging, dead-letter queues, SnapStart …).

moto keeps the settings that it uses itself and drops the others. Values that moto returns are unchanged.

Source: model botocore lambda CreateFunction
"""

from typing import Any

from moto.awslambda.models import LambdaFunction

from llm_fleet_local.aws.resources.moto_fixes.json_api import known_members

_INSTALLED = "_llm_fleet_settings"


def install() -> None:
    """Keep all settings of functions."""
    if hasattr(LambdaFunction, _INSTALLED):
        return
    setattr(LambdaFunction, _INSTALLED, True)
    LambdaFunction.__init__ = _from_spec(LambdaFunction.__init__)
    LambdaFunction.update_configuration = _updating(LambdaFunction.update_configuration)
    LambdaFunction.get_configuration = _reporting(LambdaFunction.get_configuration)


def _from_spec(as_moto_does: Any) -> Any:
    def __init__(self: Any, account_id: str, spec: dict[str, Any], *args: Any, **named: Any) -> None:
        self.requested = dict(spec)
        as_moto_does(self, account_id, spec, *args, **named)

    return __init__


def _updating(as_moto_does: Any) -> Any:
    def update_configuration(self: Any, config_updates: dict[str, Any]) -> Any:
        self.requested = self.requested | config_updates
        return as_moto_does(self, config_updates)

    return update_configuration


def _reporting(as_moto_does: Any) -> Any:
    def get_configuration(self: Any, *args: Any, **named: Any) -> dict[str, Any]:
        described = as_moto_does(self, *args, **named)
        forgotten = {
            name: value for name, value in self.requested.items() if name not in described or name == "SnapStart"
        }
        return described | known_members("lambda", "FunctionConfiguration", forgotten)

    return get_configuration
