"""The L1 constructs of a Studio domain, its user profiles and its lifecycle configurations."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from llm_fleet.catalog.notebook import studio_facts
from llm_fleet.lifecycle.script_folder import default_folder, packed
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.notebook import check_script_size
from llm_fleet.spec.studio import StudioSpec, StudioUser

_SCRIPT = "studio/on_start.sh"
_SHARED = ("__init__", "places", "prepare")
"""Modules of `notebook_instance` that pin packages and configure the SDK; Studio uses them, too."""
_PROGRAMS = "usr/local/bin/"
_KINDS = ("JupyterLab", "CodeEditor")
_DIGITS = 8


class StudioScripts(Construct):
    """A lifecycle configuration for JupyterLab, and one for Code Editor.

    A lifecycle configuration cannot be changed: a new script is a new configuration, so the name ends with its hash.
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
        """Create both, named `name` with the kind and the hash.

        `pins`: pip constraints. `bucket_name`: default bucket of the SageMaker SDK; may be a token. `files`: more files
        to write, by absolute path. Raises `FleetError` (LF927) for a script that is too long.
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
            # A changed tag would also replace the configuration with one of the same name, which SageMaker rejects.
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


_Domain = sagemaker.CfnDomain
_Profile = sagemaker.CfnUserProfile
_LANDING = "studio::"
_HIDDEN_APPLICATIONS = ("JupyterServer", "RStudioServerPro", "Canvas")
"""Studio Classic, and apps that need setup or a license that this domain does not have."""
_NEED_HOME = ("TensorBoard",)
"""Apps that require home directories."""


def render_domain(
    scope: Construct,
    settings: StudioSpec,
    *,
    domain_name: str,
    vpc_id: str,
    subnet_ids: Sequence[str],
    security_group_ids: Sequence[str],
    role_arn: str,
    key_arn: str | None,
    file_system_id: str | None,
    scripts: StudioScripts,
) -> sagemaker.CfnDomain:
    """Create the domain in `scope`. Without `key_arn`, AWS owned keys encrypt it."""
    storage = _Domain.DefaultSpaceStorageSettingsProperty(
        default_ebs_storage_settings=_Domain.DefaultEbsStorageSettingsProperty(
            default_ebs_volume_size_in_gb=settings.volume_gib,
            maximum_ebs_volume_size_in_gb=settings.maximum_volume_gib,
        )
    )
    common: dict[str, Any] = {
        "execution_role": role_arn,
        "security_groups": list(security_group_ids),
        "jupyter_lab_app_settings": _jupyter_lab(settings, scripts.arn("JupyterLab")),
        "space_storage_settings": storage,
        "custom_file_system_configs": _file_systems(settings, file_system_id),
    }
    return _Domain(
        scope,
        "Resource",
        domain_name=domain_name,
        auth_mode=settings.sign_in.value,
        app_network_access_type="PublicInternetOnly" if settings.internet else "VpcOnly",
        vpc_id=vpc_id,
        subnet_ids=list(subnet_ids),
        kms_key_id=key_arn,
        home_efs_file_system_creation="Enabled" if settings.home_efs else "Disabled",
        tag_propagation="ENABLED",
        domain_settings=_Domain.DomainSettingsProperty(execution_role_identity_config="USER_PROFILE_NAME"),
        default_user_settings=_Domain.UserSettingsProperty(
            **common,
            code_editor_app_settings=_code_editor(settings, scripts.arn("CodeEditor")),
            auto_mount_home_efs="Enabled" if settings.home_efs else "Disabled",
            studio_web_portal="ENABLED",
            default_landing_uri=_LANDING,
            sharing_settings=_Domain.SharingSettingsProperty(notebook_output_option="Disabled"),
            studio_web_portal_settings=_Domain.StudioWebPortalSettingsProperty(
                hidden_app_types=[*_HIDDEN_APPLICATIONS, *(() if settings.home_efs else _NEED_HOME)],
                hidden_instance_types=_hidden_types(settings),
            ),
        ),
        default_space_settings=_Domain.DefaultSpaceSettingsProperty(**common),
    )


def render_profile(
    scope: Construct, name: str, user: StudioUser, *, domain_id: str, role_arn: str
) -> sagemaker.CfnUserProfile:
    """Create the profile `name` of `user` in `scope`; the domain's settings are its defaults."""
    posix = None
    if user.uid is not None:
        posix = _Profile.CustomPosixUserConfigProperty(uid=user.uid, gid=user.uid if user.gid is None else user.gid)
    return _Profile(
        scope,
        name,
        domain_id=domain_id,
        user_profile_name=name,
        single_sign_on_user_identifier="UserName" if user.identity is not None else None,
        single_sign_on_user_value=user.identity,
        user_settings=_Profile.UserSettingsProperty(execution_role=role_arn, custom_posix_user_config=posix),
    )


def _jupyter_lab(settings: StudioSpec, script_arn: str) -> sagemaker.CfnDomain.JupyterLabAppSettingsProperty:
    repositories = [_Domain.CodeRepositoryProperty(repository_url=url) for url in settings.code_repositories]
    return _Domain.JupyterLabAppSettingsProperty(
        default_resource_spec=_resources(settings, script_arn),
        lifecycle_config_arns=[script_arn],
        code_repositories=repositories or None,
        app_lifecycle_management=_idle(settings),
    )


def _code_editor(settings: StudioSpec, script_arn: str) -> sagemaker.CfnDomain.CodeEditorAppSettingsProperty:
    return _Domain.CodeEditorAppSettingsProperty(
        default_resource_spec=_resources(settings, script_arn),
        lifecycle_config_arns=[script_arn],
        app_lifecycle_management=_idle(settings),
    )


def _resources(settings: StudioSpec, script_arn: str) -> sagemaker.CfnDomain.ResourceSpecProperty:
    return _Domain.ResourceSpecProperty(instance_type=settings.instance_type, lifecycle_config_arn=script_arn)


def _idle(settings: StudioSpec) -> sagemaker.CfnDomain.AppLifecycleManagementProperty:
    if settings.idle_minutes is None:
        idle = _Domain.IdleSettingsProperty(lifecycle_management="DISABLED")
    else:
        # Otherwise users could set a longer time and keep apps running.
        idle = _Domain.IdleSettingsProperty(
            lifecycle_management="ENABLED",
            idle_timeout_in_minutes=settings.idle_minutes,
            min_idle_timeout_in_minutes=studio_facts().idle_minutes.minimum,
            max_idle_timeout_in_minutes=settings.idle_minutes,
        )
    return _Domain.AppLifecycleManagementProperty(idle_settings=idle)


def _file_systems(
    settings: StudioSpec, file_system_id: str | None
) -> list[sagemaker.CfnDomain.CustomFileSystemConfigProperty] | None:
    if file_system_id is None:
        return None
    return [
        _Domain.CustomFileSystemConfigProperty(
            f_sx_lustre_file_system_config=_Domain.FSxLustreFileSystemConfigProperty(
                file_system_id=file_system_id, file_system_path=settings.lustre_directory
            )
        )
    ]


def _hidden_types(settings: StudioSpec) -> list[str] | None:
    """Return the instance types to hide in Studio. Hiding is for convenience; the role denies them."""
    facts, allowed = studio_facts(), settings.allowed_instance_types
    if not allowed:
        return None
    others = [name for name in facts.instances if name not in allowed]
    return [name for name in others if name.split(".")[1] not in facts.unknown_to_cloudformation]
