"""The node scripts and their settings in S3: the bundle, its bucket, and the function that publishes it."""

import hashlib
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

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.data_file import load
from llm_fleet.lifecycle.node_manifest import NodeManifest, render
from llm_fleet.lifecycle.python_function import DeploymentCode, DeploymentFunction
from llm_fleet.lifecycle.script_folder import (
    ScriptFile,
    bundle_files,
    checksums,
    content_hash,
    default_folder,
    read_scripts,
    sha256,
    write_zip,
)
from llm_fleet.logs import log_access
from llm_fleet.named_files.named_file import check_own_folder
from llm_fleet.references import hold
from llm_fleet.rules.bundle import bucket_name, manifest_size
from llm_fleet.rules.bundle import scripts as script_rules
from llm_fleet.rules.problem import is_unresolved, raise_problems
from llm_fleet.rules.terms import NodePlatform, ParallelClusterHook

_SOURCES = Path(__file__).parent / "publisher"


class BundlePublisher(DeploymentFunction):
    """A small Lambda function that copies, verifies and resolves values; it needs no layer.

    The CDK's BucketDeployment would cost a 22 MB layer and cannot verify what it wrote.
    """

    code = DeploymentCode(
        id="LlmFleetBundlePublisher",
        archive="publisher.zip",
        files=lambda: read_scripts(_SOURCES),
        below="publisher/",
        handler="publisher.handler.handler",
        timeout=180,
        runs_once="once a bundle",
        description="Puts a lifecycle bundle in its bucket before the cluster is created",
        policy_description="What the publisher of lifecycle bundles may do",
        role_description="Role of the function that publishes lifecycle bundles",
        unencrypted_log="its log holds object keys and errors, encrypted by CloudWatch; `log_encryption_key` takes "
        "another key",
    )

    def allow(self, number: str, *, asset: s3_assets.Asset, bucket: s3.IBucket, root: str) -> None:
        """Let it read the archive `asset` and write below `root` in `bucket`; `number` makes statement ids unique."""
        archive = asset.bucket.arn_for_objects(asset.s3_object_key)
        objects = bucket.arn_for_objects(f"{root}/*")
        statements = [
            iam.PolicyStatement(sid=f"Read{number}", actions=["s3:GetObject"], resources=[archive]),
            iam.PolicyStatement(sid=f"Write{number}", actions=["s3:PutObject"], resources=[objects]),
        ]
        if bucket.encryption_key:
            statements.append(
                iam.PolicyStatement(
                    sid=f"Key{number}",
                    actions=["kms:GenerateDataKey"],
                    resources=[bucket.encryption_key.key_arn],
                )
            )
        reason = "the rest of the key is the bundle's hash, computed at publication"
        self.allow_statements(statements, wildcards={objects: reason})


_CUT_HASH = 6


class LifecycleBucket(Construct):
    """A private, versioned bucket for lifecycle bundles, named `sagemaker-<name_part>-<8 characters>`.

    The last part is from the stack's id, so that a new stack does not conflict with the retained bucket of an earlier
    one. Retained when the stack is deleted: nodes of a running cluster may still start from it.

    It is retained even when the stack's first deployment fails, unless `removal_policy` is set differently: it may
    already contain a bundle, and CloudFormation cannot delete a bucket with objects, so the rollback would fail.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        name_part: str,
        encryption_key: kms.IKey | None = None,
        access_log_bucket: s3.IBucket | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN,
    ) -> None:
        """Make the bucket.

        `name_part`: its purpose, e.g. the fleet's name; a long one is truncated and ends with a hash.
        `encryption_key`: default, S3's own keys. `access_log_bucket`: default, no server access logs; the bundle
        contains no secret, and CloudTrail records changes of the bucket. `removal_policy`: `RETAIN_ON_UPDATE_OR_DELETE`
        suits a stack that publishes no bundle itself. Raises `FleetError` when S3 would reject the name.
        """
        super().__init__(scope, id)
        facts = load("lifecycle")
        name = f"{facts['bucket_prefix']}{_fit(name_part)}-"
        problems = bucket_name(name + "0" * facts["bucket_name_unique_part"])
        raise_problems((problem.under("name_part") for problem in problems), subject=self.node.path)
        bucket = s3.Bucket(
            self,
            "Resource",
            bucket_name=name + _stack_part(cdk.Stack.of(self)),
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            bucket_key_enabled=encryption_key is not None or None,
            encryption=s3.BucketEncryption.KMS if encryption_key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=encryption_key,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            removal_policy=removal_policy,
            versioned=True,
        )
        hold(bucket)
        if access_log_bucket is not None:
            log_access(bucket, to=access_log_bucket, prefix="lifecycle-bucket/")
        self.bucket = cast(s3.IBucket, bucket)
        """The bucket itself."""
        self._acknowledge(logged=access_log_bucket is not None, encrypted=encryption_key is not None)

    @property
    def bucket_name(self) -> str:
        """The name, a token."""
        return self.bucket.bucket_name

    def _acknowledge(self, *, logged: bool, encrypted: bool) -> None:
        acknowledge(
            self,
            "every deployment writes the bundle again from the scripts in the package",
            "NIST.800.53.R5-S3BucketReplicationEnabled",
        )
        if not logged:
            acknowledge(
                self,
                "the bundle holds no secret and CloudTrail records who changes it; `access_log_bucket` turns logs on",
                "AwsSolutions-S1",
                "NIST.800.53.R5-S3BucketLoggingEnabled",
            )
        if not encrypted:
            acknowledge(
                self,
                "the bundle holds no secret and is encrypted with S3's own keys; `encryption_key` takes another",
                "NIST.800.53.R5-S3DefaultEncryptionKMS",
            )


def _fit(name_part: str) -> str:
    """Return `name_part`, truncated, with a hash at its end, if the bucket name would be too long."""
    facts = load("lifecycle")
    room = facts["bucket_name_max"] - len(facts["bucket_prefix"]) - facts["bucket_name_unique_part"] - len("-")
    if is_unresolved(name_part) or len(name_part) <= room:
        return name_part
    digest = hashlib.sha256(name_part.encode()).hexdigest()[:_CUT_HASH]
    return f"{name_part[: room - _CUT_HASH - 1].rstrip('-.')}-{digest}"


def _stack_part(stack: cdk.Stack) -> str:
    """Return the first block of the GUID in the stack's ARN (`arn:…:stack/<name>/<guid>`): 8 characters."""
    guid = cdk.Fn.select(2, cdk.Fn.split("/", stack.stack_id))
    return cdk.Fn.select(0, cdk.Fn.split("-", guid))


class LifecycleBundle(Construct):
    """The scripts that every node of a cluster copies and runs when it starts.

    The prefix in the bucket is derived from the contents: a changed script, a changed manifest, or a value that changed
    between two deployments gives a new prefix, and so updates the cluster. Old bundles stay in the bucket, so that
    nodes can start while a cluster is being updated, and a cluster can use an old bundle again.

    `source_s3_uri` is an attribute of the finished upload, so a cluster that refers to it is created afterwards. An
    explicit dependency on this construct has the same effect.

    On ParallelCluster, head and login nodes always keep the script and arguments that they were created with. So
    there `entry_s3_uri` and `pointer_s3_uri` never change, and each deployment rewrites these objects, the pointer
    last: a node that starts later uses the bundle that was published last. A deployment that is rolled back publishes
    the old bundle again, and the pointer with it.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        bucket: s3.IBucket,
        manifest: NodeManifest,
        log_encryption_key: kms.IKey | None = None,
    ) -> None:
        """Publish `manifest` with the scripts to `bucket`.

        `bucket`: on HyperPod its name must begin with `sagemaker-`; see `LifecycleBucket`.
        `log_encryption_key`: default, CloudWatch's own encryption of the publisher's log.

        Raises `FleetError` with all problems of scripts and bucket, and `NotADirectoryError` when a
        folder of the manifest's scripts is not a folder.
        """
        super().__init__(scope, id)
        scripts = manifest.scripts
        own = scripts.own
        files = bundle_files(scripts.scripts_path or default_folder(), own.folder_path if own is not None else None)
        problems = [problem.under("scripts") for problem in script_rules(files, entry_points=_entry_points(manifest))]
        problems += [problem.under("scripts") for problem in check_own_folder(scripts, start="the process runs")]
        problems += [problem.under("bucket") for problem in bucket_name(bucket.bucket_name, platform=manifest.platform)]
        scripts_sha256 = sha256(checksums(files))
        rendered = render(manifest, content_hash="", scripts_sha256=scripts_sha256)
        problems += [problem.under("manifest") for problem in manifest_size(len(json.dumps(rendered)))]
        raise_problems(problems, subject=self.node.path)

        self.content_hash = content_hash(files, rendered)
        """Hash of scripts and manifest with unresolved tokens, in hex; also in `fleet.json`."""
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
        """`s3://bucket/prefix/`, a token that depends on the upload: the value for `LifeCycleConfig.SourceS3Uri`."""
        return self._resource.get_att_string("SourceS3Uri")

    @property
    def prefix(self) -> str:
        """The prefix of this bundle, below `root`; a token that depends on the upload."""
        return self._resource.get_att_string("Prefix")

    @property
    def checksums_sha256(self) -> str:
        """SHA-256 of the published `SHA256SUMS` in hex, a token that depends on the upload.

        It covers every byte of the bundle, including values resolved at deployment: the second argument of
        `on_node_configured.sh s3://BUCKET/PREFIX SHA256 GROUP`.
        """
        return self._resource.get_att_string("ChecksumsSha256")

    @property
    def entry_s3_uri(self) -> str:
        """`s3://bucket/root/on_node_configured.sh`, a token that depends on the upload and never changes.

        `Script` of head node and login pools. Raises `ValueError` for a manifest of HyperPod, which has no entry
        script.
        """
        return self._stable("EntryS3Uri")

    @property
    def pointer_s3_uri(self) -> str:
        """`s3://bucket/root/current`, a token that depends on the upload and never changes.

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
                # One string: CloudFormation would convert every number and boolean of an object to text.
                "Manifest": json.dumps(manifest, sort_keys=True),
                **self._stable_entry(),
            },
        )

    def _stable_entry(self) -> dict[str, str]:
        """Return the properties for which the publisher also writes the entry script and the pointer."""
        if not self._has_stable_keys:
            return {}
        return {
            "Entry": load("lifecycle")["parallelcluster_entry_points"][ParallelClusterHook.ON_NODE_CONFIGURED.value]
        }


def _entry_points(manifest: NodeManifest) -> set[str]:
    """Return the scripts that the platform runs on at least one group."""
    facts = load("lifecycle")
    names = {**facts["entry_points"], **facts["parallelcluster_entry_points"]}
    return {group.script or cast(str, names[group.hook.value]) for group in manifest.groups if group.hook}


def _name(given: str | None, construct: Construct) -> str:
    """Return `given` for a path in S3; the construct's address if it is a token."""
    return construct.node.addr[-8:] if given is None or is_unresolved(given) else given


def _asset(scope: Construct, files: tuple[ScriptFile, ...]) -> s3_assets.Asset:
    """Return the archive of the scripts, named by the hash of its content: zlib's output differs between machines."""
    modes = "".join(f"{file.executable}" for file in files)
    with TemporaryDirectory() as folder:
        archive = Path(folder, "scripts.zip")
        write_zip(files, archive)
        return s3_assets.Asset(scope, "Scripts", path=str(archive), asset_hash=sha256(checksums(files) + modes))
