"""Corrections of moto, each in its own module, with the reason.

Every module has a function `install()`, which can be called repeatedly.
"""

import os
from importlib import import_module

FIXES = (
    "speed",
    "iam_managed_policies",
    "iam_partitions",
    "iam_conditions",
    "s3_loopback_is_tls",
    "s3_log_target",
    "fsx_ids",
    "fsx_file_systems",
    "fsx_volumes",
    "fsx_data_repositories",
    "sagemaker_clusters",
    "sagemaker_endpoints",
    "sagemaker_notebooks",
    "checked_resources",
    "sagemaker_studio",
    "sagemaker_training_jobs",
    "sagemaker_cluster_events",
    "sagemaker_cluster_event_lists",
    "sagemaker_cluster_operations",
    "logs_filter_events",
    "state_machine_runs",
    "ec2_in_use",
    "endpoint_services",
    "ec2_security_group_rules",
    "lambda_settings",
    "event_delivery",
    "event_access",
    "checked_messages",
    "rds_changes",
    "ec2_launch_templates",
    "autoscaling_groups",
    "elbv2_load_balancers",
    "elbv2_listeners",
    "ecs_clusters",
    "ecs_capacity_providers",
    "ecs_task_definitions",
    "ecs_services",
    "scaling_policies",
    "sagemaker_scaling",
    "budgets",
    "budget_actions",
    "wafv2_associations",
    "cloudwatch_alarms",
    "ssm_neuron_images",
    "service_quotas",
    "training_plans",
    "capacity_reservations",
)


def install_moto_fixes() -> None:
    """Install every correction; call it in the process that serves moto, before its first request."""
    os.environ.setdefault("MOTO_IAM_LOAD_MANAGED_POLICIES", "true")
    for name in FIXES:
        import_module(f"{__name__}.{name}").install()
