"""The lifecycle scripts of Studio: one text, for each kind of application."""

import hashlib
import json
from collections.abc import Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from llm_fleet.catalog.studio import studio_facts
from llm_fleet.lifecycle.script_folder import default_folder, packed
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.notebook import check_script_size

_SCRIPT = "studio/on_start.sh"
_SHARED = ("__init__", "places", "prepare")
"""Modules of `notebook_instance` that pin packages and configure the SDK, in Studio as there."""
_PROGRAMS = "usr/local/bin/"
_KINDS = ("JupyterLab", "CodeEditor")
_DIGITS = 8


class StudioScripts(Construct):
    """A lifecycle configuration for JupyterLab, and one for Code Editor.

    SageMaker changes none: another text is another configuration, so the name ends with digits of the text's hash.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        name: str,
        pins: Sequence[str],
        bucket_name: str | None,
        files: Mapping[str, str],
    ) -> None:
        """Make them, called `name` with the kind and digits.

        `pins`: what pip may install of packages. `bucket_name`: what the SageMaker SDK takes by default; may be a
        token. `files`: what else is laid down, by absolute paths. Raises `FleetError` (LF927) for a script that is too
        long.
        """
        super().__init__(scope, id)
        script = _script(self, pins=pins, bucket_name=bucket_name, files=files)
        most = studio_facts().script_characters.maximum or 0
        raise_problems(check_script_size(script, most, SageMakerCode.STUDIO_SCRIPT), subject=self.node.path)
        resolved = json.dumps(cdk.Stack.of(self).resolve(script))
        digits = hashlib.sha256(resolved.encode()).hexdigest()[:_DIGITS]
        self._made = {
            kind: sagemaker.CfnStudioLifecycleConfig(
                self,
                kind,
                studio_lifecycle_config_app_type=kind,
                studio_lifecycle_config_name=_name(name, kind, digits),
                studio_lifecycle_config_content=cdk.Fn.base64(script),
            )
            for kind in _KINDS
        }
        for resource in self._made.values():
            # Another tag would be another configuration, too, and of the same name, which SageMaker refuses.
            resource.add_property_deletion_override("Tags")

    def arn(self, kind: str) -> str:
        """Return the ARN of the configuration for `kind`, `JupyterLab` or `CodeEditor`."""
        return self._made[kind].attr_studio_lifecycle_config_arn


def _script(scope: Construct, *, pins: Sequence[str], bucket_name: str | None, files: Mapping[str, str]) -> str:
    folder = default_folder()
    shared = {f"notebook_instance/{module}.py": f"notebook_instance/{module}.py" for module in _SHARED}
    laid_down = {f"opt/llm-fleet/{path}": (folder / source).read_bytes() for path, source in shared.items()}
    laid_down |= {path.lstrip("/"): text.encode() for path, text in files.items()}
    programs = frozenset(path for path in laid_down if path.startswith(_PROGRAMS))
    settings = cdk.Stack.of(scope).to_json_string({"pins": list(pins), "bucket": bucket_name})
    script = (folder / _SCRIPT).read_text(encoding="utf-8")
    return script.replace("@FILES@", packed(laid_down, executable=programs)).replace("@SETTINGS@", settings)


def _name(name: str, kind: str, digits: str) -> str:
    ending = f"-{kind.lower()}-{digits}"
    return name[: (studio_facts().script_name.maximum or 0) - len(ending)].rstrip("-") + ending
