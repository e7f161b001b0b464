"""The lifecycle scripts and the node manifest, complete in S3 before a cluster is created."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from llm_fleet.catalog.data_file import load
from llm_fleet.lifecycle.bundle_publisher import BundlePublisher
from llm_fleet.lifecycle.content import checksums, content_hash, sha256, write_zip
from llm_fleet.lifecycle.node_manifest import NodeManifest, render
from llm_fleet.lifecycle.script_folder import ScriptFile, bundle_files, default_folder
from llm_fleet.named_files.own_scripts import own_scripts as read_own_scripts
from llm_fleet.rules.bundle import bucket_name, manifest_size
from llm_fleet.rules.bundle import scripts as script_rules
from llm_fleet.rules.own_steps import check_own_scripts
from llm_fleet.rules.problem import Problem, raise_problems
from llm_fleet.rules.terms import NodePlatform, ParallelClusterHook
from llm_fleet.rules.tokens import is_unresolved


class LifecycleBundle(Construct):
    """What every node of a cluster copies and runs when it starts.

    Its prefix in the bucket comes from its contents: a changed script, a changed manifest, or a value that changed
    between two deployments makes a new prefix, and so updates the cluster. Old bundles stay in the bucket, so that
    nodes can start while a cluster is being updated and an old bundle can be put back.

    `source_s3_uri` is an attribute of the finished upload, so a cluster that names it is created afterwards. An
    explicit dependency on this construct means the same.

    On ParallelCluster, head and login nodes keep for ever the script and arguments that they were created with. So
    there `entry_s3_uri` and `pointer_s3_uri` never change, and each deployment rewrites what lies at them, the pointer
    last: a node that starts later takes the bundle that was published last. A deployment that is rolled back publishes
    the old bundle again, and the pointer with it.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        bucket: s3.IBucket,
        manifest: NodeManifest,
        scripts: Path | None = None,
        own_scripts: Path | None = None,
        log_encryption_key: kms.IKey | None = None,
    ) -> None:
        """Publish `manifest` with the scripts to `bucket`.

        `bucket`: on HyperPod its name must begin with `sagemaker-`; see `LifecycleBucket`. `scripts`: default,
        llm-fleet's own folder. `own_scripts`: a folder with the scripts of the manifest's `own_steps`, laid beside
        those of `scripts`; default, none. `log_encryption_key`: default, CloudWatch's own encryption of the
        publisher's log.
        Raises `FleetError` with everything that is wrong with scripts and bucket, and `NotADirectoryError` when
        `scripts` or `own_scripts` is no folder.
        """
        super().__init__(scope, id)
        files = bundle_files(scripts or default_folder(), own_scripts)
        problems = [problem.under("scripts") for problem in script_rules(files, entry_points=_entry_points(manifest))]
        problems += [problem.under("own_steps") for problem in _own_script_problems(manifest, own_scripts)]
        problems += [problem.under("bucket") for problem in bucket_name(bucket.bucket_name, platform=manifest.platform)]
        scripts_sha256 = sha256(checksums(files))
        rendered = render(manifest, content_hash="", scripts_sha256=scripts_sha256)
        problems += [problem.under("manifest") for problem in manifest_size(len(json.dumps(rendered)))]
        raise_problems(problems, subject=self.node.path)

        self.content_hash = content_hash(files, rendered)
        """Hash of scripts and manifest as far as synth knows them, in hex; also in `fleet.json`."""
        self.root = f"bundles/{_name(manifest.fleet_name, self)}/{_name(manifest.cluster_name, self)}"
        """The part of the bucket that holds this and all earlier bundles of the cluster; no slash at either end."""
        self.bucket = bucket
        """The bucket that holds it."""
        self._has_stable_keys = manifest.platform is NodePlatform.PARALLELCLUSTER
        self._resource = self._publish(
            _asset(self, files),
            {**rendered, "content_hash": self.content_hash},
            scripts_sha256,
            log_encryption_key,
        )

    @property
    def source_s3_uri(self) -> str:
        """`s3://bucket/prefix/`, a token that waits for the upload: what `LifeCycleConfig.SourceS3Uri` takes."""
        return self._resource.get_att_string("SourceS3Uri")

    @property
    def prefix(self) -> str:
        """The prefix of this very bundle, below `root`; a token that waits for the upload."""
        return self._resource.get_att_string("Prefix")

    @property
    def checksums_sha256(self) -> str:
        """SHA-256 of the published `SHA256SUMS` in hex, a token that waits for the upload.

        It stands for every byte of the bundle, what was filled in at deployment too: the second argument of
        `on_node_configured.sh s3://BUCKET/PREFIX SHA256 GROUP`.
        """
        return self._resource.get_att_string("ChecksumsSha256")

    @property
    def entry_s3_uri(self) -> str:
        """`s3://bucket/root/on_node_configured.sh`, a token that waits for the upload and never changes.

        `Script` of head node and login pools. Raises `ValueError` for a manifest of HyperPod, which runs none.
        """
        return self._stable("EntryS3Uri")

    @property
    def pointer_s3_uri(self) -> str:
        """`s3://bucket/root/current`, a token that waits for the upload and never changes.

        First argument of `on_node_configured.sh s3://BUCKET/ROOT/current GROUP`. Raises `ValueError` as
        `entry_s3_uri` does.
        """
        return self._stable("PointerS3Uri")

    def _stable(self, attribute: str) -> str:
        if not self._has_stable_keys:
            raise ValueError(f"{self.node.path}: only ParallelCluster's nodes start at keys that never change")
        return self._resource.get_att_string(attribute)

    def grant_read(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` read this cluster's bundles. A `NodeRole` with the feature `bundle` needs no grant."""
        grant = iam.Grant.add_to_principal(
            grantee=grantee, actions=["s3:GetObject"], resource_arns=[self.bucket.arn_for_objects(f"{self.root}/*")]
        )
        listing = iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["s3:ListBucket"],
            resource_arns=[self.bucket.bucket_arn],
            conditions={"StringLike": {"s3:prefix": [self.root, f"{self.root}/*"]}},
        )
        grant = grant.combine(listing)
        if self.bucket.encryption_key:
            grant = grant.combine(self.bucket.encryption_key.grant_decrypt(grantee))
        return grant

    def _publish(
        self, asset: s3_assets.Asset, manifest: dict[str, Any], scripts_sha256: str, key: kms.IKey | None
    ) -> cdk.CustomResource:
        publisher = BundlePublisher.of(self, log_encryption_key=key)
        publisher.allow(self.node.addr[-8:], asset=asset, bucket=self.bucket, root=self.root)
        return cdk.CustomResource(
            self,
            "Resource",
            resource_type="Custom::LlmFleetBundle",
            service_token=publisher.function.attr_arn,
            service_timeout=cdk.Duration.minutes(10),
            properties={
                "SourceBucket": asset.s3_bucket_name,
                "SourceKey": asset.s3_object_key,
                "Bucket": self.bucket.bucket_name,
                "Root": self.root,
                "ContentHash": self.content_hash,
                "ChecksumsSha256": scripts_sha256,
                # One string: CloudFormation would turn every number and boolean of an object into text.
                "Manifest": json.dumps(manifest, sort_keys=True),
                **self._stable_entry(),
            },
        )

    def _stable_entry(self) -> dict[str, str]:
        """Return what makes the publisher write the entry script and the pointer, too."""
        if not self._has_stable_keys:
            return {}
        return {
            "Entry": load("lifecycle")["parallelcluster_entry_points"][ParallelClusterHook.ON_NODE_CONFIGURED.value]
        }


def _entry_points(manifest: NodeManifest) -> set[str]:
    """Return the scripts that the platform is told to run on some group."""
    facts = load("lifecycle")
    names = {**facts["entry_points"], **facts["parallelcluster_entry_points"]}
    return {group.script or cast(str, names[group.hook.value]) for group in manifest.groups if group.hook}


def _own_script_problems(manifest: NodeManifest, folder: Path | None) -> list[Problem]:
    """Return what is wrong with the scripts of the manifest's own steps."""
    scripts = read_own_scripts(folder, {step.script for step in manifest.own_steps}) if folder else None
    return check_own_scripts(manifest.own_steps, scripts)


def _name(given: str | None, construct: Construct) -> str:
    """Return `given` for a path in S3; the construct's own address when it is not known yet."""
    return construct.node.addr[-8:] if given is None or is_unresolved(given) else given


def _asset(scope: Construct, files: tuple[ScriptFile, ...]) -> s3_assets.Asset:
    """Return the archive of the scripts, named by what is in it: zlib's output differs between machines."""
    modes = "".join(f"{file.executable}" for file in files)
    with TemporaryDirectory() as folder:
        archive = Path(folder, "scripts.zip")
        write_zip(files, archive)
        return s3_assets.Asset(scope, "Scripts", path=str(archive), asset_hash=sha256(checksums(files) + modes))
