"""The buckets and scripts of a cluster, of the fleet's own or named in its file."""

from collections.abc import Iterable, Mapping

from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.fleet_file.cluster import HyperPodConfig
from llm_fleet.fleet_file.own_step import OwnStepConfig
from llm_fleet.hyperpod.lifecycle_scripts import LifecycleScripts
from llm_fleet.lifecycle.node_setup import OwnStep
from llm_fleet.rules.terms import LifecycleHook

_S3 = "s3://"


def lifecycle_scripts_from(scope: Construct, config: HyperPodConfig, *, own_bucket: s3.IBucket) -> LifecycleScripts:
    """Return what the nodes of `config` run when they start, in `own_bucket` unless the file names another.

    Groups say for themselves whether they run it, so a cluster without any still has the hook of those that differ.
    """
    scripts = config.scripts
    named = scripts.bucket_name
    return LifecycleScripts(
        hook=config.lifecycle.hook or LifecycleHook.ON_INIT_COMPLETE,
        bucket=s3.Bucket.from_bucket_name(scope, "ScriptsBucket", named) if named else own_bucket,
        scripts=scripts.folder_path,
        prefix=scripts.prefix,
        entry_point=scripts.entry_point,
        provisioning_parameters=scripts.provisioning_parameters,
        skip_steps=scripts.skip_steps,
        own_steps=[own_step_from(step) for step in scripts.own_steps],
        own_scripts=scripts.own.folder_path if scripts.own is not None else None,
        reports=config.reports,
    )


def own_step_from(config: OwnStepConfig) -> OwnStep:
    """Return the step that `config` describes."""
    return OwnStep(
        name=config.name,
        script=config.script,
        roles=config.roles,
        needs=config.needs,
        timeout_seconds=config.timeout_seconds,
        retries=config.retries,
    )


def buckets_from(scope: Construct, names: Iterable[str], *, own: Mapping[str, s3.IBucket]) -> list[s3.IBucket]:
    """Return the buckets of `names`: a key of the fleet's `own` buckets, or `s3://` and the name of an existing one."""
    return [own[name] if name in own else existing_bucket(scope, name) for name in names]


def existing_bucket(scope: Construct, uri: str) -> s3.IBucket:
    """Return the bucket of `s3://<name>`; one that is read, written and mounted is imported once."""
    name = uri.removeprefix(_S3).strip("/")
    found = scope.node.try_find_child(f"Bucket-{name}")
    return found if found is not None else s3.Bucket.from_bucket_name(scope, f"Bucket-{name}", name)  # pyright: ignore
