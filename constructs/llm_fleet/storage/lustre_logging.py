"""Where a Lustre file system reports trouble with its links to S3."""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_logs as logs
from constructs import Construct

from llm_fleet.catalog.lustre import lustre_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.file_systems import MADE_UP, check_choice, check_log_group_name
from llm_fleet.rules.lustre_settings import LustreSettings
from llm_fleet.rules.problem import Problem

_DISABLED = "DISABLED"


def check_logging(*, level: str | None, log_group: logs.ILogGroup | None) -> Sequence[Problem]:
    """Return what FSx would refuse of a log level and a log group."""
    problems = check_choice(
        level, lustre_limits().log_levels, code=Code.FILE_SYSTEM_LOG, name="log_level", what="there is no log level"
    )
    if log_group is None:
        return problems
    if level == _DISABLED:
        problems.append(
            Problem(
                code=Code.FILE_SYSTEM_LOG,
                path=("log_group",),
                message=f"a log group does not go with log level {_DISABLED}",
                remedy="leave one of the two out",
            )
        )
    return [*problems, *check_log_group_name(_name_of(log_group))]


def log_configuration(
    scope: Construct, settings: LustreSettings, *, level: str | None, log_group: logs.ILogGroup | None
) -> fsx.CfnFileSystem.LogConfigurationProperty | None:
    """Return the log configuration: of warnings and errors unless told otherwise, where links to S3 exist at all.

    Without a log group the service makes `/aws/fsx/lustre` and keeps what it writes there for ever.
    """
    linkable = settings.variant is not None and settings.variant.data_repositories
    if level is None and log_group is None and not linkable:
        return None
    destination = None
    if log_group is not None:
        # Not `log_group_arn`: that ends in `:*`, which is how IAM, not FSx, names a log group.
        destination = cdk.Stack.of(scope).format_arn(
            service="logs",
            resource="log-group",
            resource_name=log_group.log_group_name,
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )
    return fsx.CfnFileSystem.LogConfigurationProperty(level=level or "WARN_ERROR", destination=destination)


def _name_of(log_group: logs.ILogGroup) -> str | None:
    """The name as its maker wrote it, which `log_group_name` of a construct hides behind a token.

    `None` when it is known only at deploy time.
    """
    resource = log_group.node.default_child
    if not isinstance(resource, logs.CfnLogGroup):
        return log_group.log_group_name
    name = cdk.Stack.of(log_group).resolve(resource.log_group_name)
    if name is None:
        return MADE_UP
    return name if isinstance(name, str) else None
