"""A SageMaker training job that can be started repeatedly: its construct, monitoring and commands."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.iam.node_role import ServiceRole
from llm_fleet.iam.statements import Place
from llm_fleet.network.network import Network
from llm_fleet.notifications.metric_alarms import (
    AlarmPlan,
    MetricAlarms,
    MetricMath,
    ServiceMetric,
    alarm_widget,
    graph,
    render_dashboard,
    text_widget,
)
from llm_fleet.rules.fields import check_form, check_is_spec, network_form
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.training_job import check_training_job, check_training_job_place
from llm_fleet.sagemaker.training_job_definition import render_machine
from llm_fleet.sagemaker.training_job_machine import (
    JOB_DIMENSION,
    JobMachine,
    ScheduledStart,
    machine_plan,
    watch_record,
)
from llm_fleet.sagemaker.training_job_permissions import (
    NAMESPACE,
    JobGrants,
    MachineFeatures,
    WarmPoolCap,
    job_permissions,
)
from llm_fleet.sagemaker.training_job_request import (
    JobPlace,
    SourceArchive,
    address_claims,
    job_features,
    render_request,
)
from llm_fleet.spec.storage import BucketSpec
from llm_fleet.spec.training_job import CapacityRetries, TrainingJobSpec
from llm_fleet.spec.watch import JobWatch
from llm_fleet.storage.buckets import DataBucket, FleetKey

if TYPE_CHECKING:
    from llm_fleet.sagemaker.watch import TrainingWatch

_JOB = "JOB"
"""Placeholder for a job's name in commands."""


_HOST = ("GPUUtilization", "GPUMemoryUtilization", "CPUUtilization", "MemoryUtilization", "DiskUtilization")
_FIVE_MINUTES = 300


class JobMonitoring(Construct):
    """Alarms on failed, timed out and aborted executions, and a dashboard of all runs."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        job: TrainingJobSpec,
        state_machine_arn: str,
        stop_command: str,
        topic: sns.ITopic | None,
    ) -> None:
        """Monitor the state machine of `job`."""
        super().__init__(scope, id)
        plans = run_plans(state_machine_arn, stop_command=stop_command)
        self.alarms = MetricAlarms(self, "Alarms", plans=plans, name_prefix=f"runs-{job.name}", topic=topic)
        """Alarms on executions; those on metrics of one job are created and deleted with the job."""
        self.dashboard: cloudwatch.CfnDashboard | None = None
        """The L1 construct; `None` without a dashboard."""
        if job.dashboard:
            rows = [
                [alarm_widget([alarm.attr_arn for alarm in self.alarms.alarms.values()])],
                [graph("Runs", *(execution_metric(state_machine_arn, kind) for kind in _KINDS))],
                *_metric_rows(job.name, list(job.metrics)),
                [text_widget(plans)],
            ]
            self.dashboard = render_dashboard(self, "Dashboard", job.name, rows)


_KINDS = ("ExecutionsStarted", "ExecutionsSucceeded", "ExecutionsFailed", "ExecutionsAborted", "ExecutionsTimedOut")


def execution_metric(state_machine_arn: str, kind: str) -> ServiceMetric:
    """Return the metric `kind` of a state machine, e.g. `ExecutionsFailed`."""
    return ServiceMetric(
        namespace="AWS/States",
        name=kind,
        dimensions={"StateMachineArn": state_machine_arn},
        statistic="Sum",
        period_seconds=_FIVE_MINUTES,
        label=kind.removeprefix("Executions"),
    )


def run_plans(state_machine_arn: str, *, stop_command: str) -> tuple[AlarmPlan, ...]:
    """Return the alarms on executions."""
    meanings = {
        "Failed": ("ExecutionsFailed", "A run of the job failed; the execution's error and cause have the reason."),
        "Aborted": (
            "ExecutionsAborted",
            f"A user aborted the execution of a run, but its job still runs. To stop the job: {stop_command}",
        ),
    }
    return tuple(
        AlarmPlan(
            id=id,
            measure=execution_metric(state_machine_arn, kind),
            threshold=1,
            meaning=meaning,
        )
        for id, (kind, meaning) in meanings.items()
    )


def _metric_rows(name: str, metrics: Sequence[str]) -> list[list[dict[str, object]]]:
    """Return graphs of all jobs with the name, two per row. They use search expressions, since no job exists at synth.

    A search matches words, so it also finds other jobs whose names have all words of this one.
    """
    graphs = [graph(metric, _search(JOB_DIMENSION, metric, name)) for metric in metrics]
    graphs += [graph(metric, _search("Host", metric, name)) for metric in _HOST]
    return [graphs[index : index + 2] for index in range(0, len(graphs), 2)]


def _search(dimension: str, metric: str, name: str) -> MetricMath:
    words = f'{{{NAMESPACE},{dimension}}} MetricName="{metric}" {dimension}={name}'
    return MetricMath(expression=f"SEARCH('{words}', 'Average', 60)", label="")


_NETWORK = network_form("write network=FleetNetwork(…), or FleetNetwork.from_attributes(…)")


class TrainingJob(Construct):
    """A state machine that runs one training job from start to end, each time it is started by a schedule or a user.

    CloudFormation starts no job: deploying costs nothing except the key. Each run has its own name,
    `<name>-YYYYMMDD-HHMMSS-xxxx`, and its own prefix for checkpoints; the execution's input can change both
    (`{"hyperparameters": {…}, "checkpoints": "s3://…", "name_suffix": "…"}`). Aborting an execution does not stop its
    job: use `stop_command`.

    Jobs write to the log group `/aws/sagemaker/TrainingJobs`, which all training jobs of an account share. This
    construct does not create it.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        job: TrainingJobSpec,
        network: Network | None = None,
        bucket: s3.IBucket | None = None,
        encryption_key: kms.IKey | None = None,
        watch: "TrainingWatch | None" = None,
        watched: JobWatch | None = None,
        alarm_topic: sns.ITopic | None = None,
    ) -> None:
        """Create the state machine that runs `job`.

        - `network`: the job's instances have network interfaces in it, two addresses each. Default: a VPC of
          SageMaker with internet access. A channel on FSx requires a network.
        - `bucket`: for results and checkpoints. Default: a new one, which is retained.
        - `encryption_key`: encrypts volumes, the new bucket, and the log; its policy must let CloudWatch Logs use
          it. Default: a new one, which is retained.
        - `watch`: restarts failed jobs; the state machine then follows the successors. `watched`: this job's settings
          that differ from the watch's.
        - `alarm_topic`: receives alarms on failed runs and on thresholds of `job.metrics`. Default: none.

        Raises `FleetError` with all problems of the job and its network, bucket, key and watch.
        """
        subject = f"{scope.node.path}/{id}"
        raise_problems(
            [*check_is_spec(job, TrainingJobSpec, "job"), *check_form(network, _NETWORK, "network")], subject=subject
        )
        stack = cdk.Stack.of(scope)
        problems = [
            *check_training_job(job),
            *check_training_job_place(
                job,
                region=stack.region,
                has_network=network is not None,
                internet=network.internet if network else None,
            ),
        ]
        if network and not problems:
            problems += network.reserve_addresses(address_claims(job, network, owner=subject))
        raise_problems(problems, subject=subject)
        super().__init__(scope, id)
        self.job = job
        """The specification of the job."""
        self.encryption_key: kms.IKey = encryption_key or FleetKey(
            self, "Key", description=f"Encrypts volumes, results and the log of the training job {job.name}"
        )
        """Encrypts volumes, the state machine's log, and the bucket if this construct creates it."""
        self.bucket: s3.IBucket = bucket or cast(
            s3.IBucket, DataBucket(self, "Bucket", BucketSpec(encryption_key=self.encryption_key))
        )
        """Default bucket of results and checkpoints."""
        self._network = network
        self._source = self._make_source()
        self._place = Place.of(scope)
        role = self._make_role()
        self.role: iam.IRole = role.role
        """Execution role of the job."""
        tags = self._follow(watch, watched)
        self._plan = machine_plan(
            job,
            render_request(job, self._job_place(tags)),
            partition=stack.partition,
            retries=job.capacity_retries or CapacityRetries(),
            watch=watch and watch_record(watch.record_table_name, answer_within_seconds=watch.answer_within_seconds),
            topic_arn=alarm_topic.topic_arn if alarm_topic else None,
        )
        self.machine = JobMachine(
            self,
            "Machine",
            features=MachineFeatures(
                name=job.name,
                role_arn=self.role.role_arn,
                alarms=bool(self._plan.alarms),
                table_arn=watch.record_table_arn if watch else None,
                table_key_arn=watch.record_key_arn if watch else None,
                training_plan_arn=job.training_plan_arn,
            ),
            definition=render_machine(self._plan),
            place=self._place,
            log_retention_days=job.log_retention_days,
            encryption_key=self.encryption_key,
        )
        """The state machine with its role and log group."""
        self.machine.machine.node.add_dependency(role)
        self.schedule = job.schedule and ScheduledStart(
            self, "Schedule", schedule=job.schedule, name=job.name, state_machine_arn=self.state_machine_arn
        )
        """Its schedule; `None` without one."""
        self.monitoring = JobMonitoring(
            self,
            "Sight",  # codespell:ignore sight
            job=job,
            state_machine_arn=self.state_machine_arn,
            stop_command=self.stop_command,
            topic=alarm_topic,
        )
        """Alarms on executions, and the dashboard."""
        self.warm_pool_cap = job.warm_pool and WarmPoolCap(self, "WarmPoolCap", cap_seconds=job.warm_pool.cap_seconds)
        """A policy to attach to users who create training jobs; `None` without a warm pool."""
        self.grants = JobGrants(
            self, name=job.name, state_machine_arn=self.state_machine_arn, remote_debug=job.remote_debug
        )
        """Grants for other roles and users."""

    @property
    def name(self) -> str:
        """Prefix of its jobs' names, and the state machine's name."""
        return self.job.name

    @property
    def remote_debug(self) -> bool:
        """Whether users can open a shell in its containers."""
        return self.job.remote_debug

    @property
    def state_machine_arn(self) -> str:
        """ARN of the state machine, a CDK token."""
        return self.machine.arn

    @property
    def start_command(self) -> str:
        """Command that starts it, a CDK token; `--input` takes hyperparameters, checkpoints and name_suffix."""
        machine = f"--region {self._place.region} --state-machine-arn {self.state_machine_arn}"
        return f"aws stepfunctions start-execution {machine} --input '{{}}'"

    @property
    def stop_command(self) -> str:
        """Command that stops a job; replace JOB with its name. Aborting the execution does not stop the job."""
        return f"aws sagemaker stop-training-job --region {self._place.region} --training-job-name {_JOB}"

    @property
    def list_command(self) -> str:
        """Command that lists its jobs, newest first."""
        listed = f"--name-contains {self.name}- --max-results 10"
        return f"aws sagemaker list-training-jobs --region {self._place.region} {listed}"

    @property
    def shell_command(self) -> str | None:
        """Command that opens a shell in the first container of a job; replace JOB with its name.

        `None` without `remote_debug`. Source of the target's format:
        docs.aws.amazon.com/sagemaker/latest/dg/train-remote-debugging.html.
        """
        target = f"sagemaker-training-job:{_JOB}_algo-1"
        return f"aws ssm start-session --region {self._place.region} --target {target}" if self.remote_debug else None

    def grant_start(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` start the job and see its runs; the same as `grants.start`."""
        return self.grants.start(grantee)

    def grant_debug(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` open a shell in its containers; the same as `grants.debug`."""
        return self.grants.debug(grantee)

    def metric(self, kind: str) -> cloudwatch.IMetric:
        """Return the execution metric `kind`, e.g. `ExecutionsFailed`, with a period of five minutes."""
        return execution_metric(self.state_machine_arn, kind).as_cloudwatch()

    def _make_source(self) -> SourceArchive | None:
        source = self.job.source
        if source is None:
            return None
        return SourceArchive(self, "Source", folder=source.path, files=source.files or frozenset())

    def _make_role(self) -> ServiceRole:
        features = job_features(
            self.job,
            place=self._place,
            bucket=self.bucket,
            source=self._source,
            key_arn=self.encryption_key.key_arn,
            in_network=self._network is not None,
        )
        return ServiceRole(
            self,
            "Role",
            service="sagemaker.amazonaws.com",
            description=f"Containers of the training job {self.job.name}",
            # The trust policy has no condition on the account. assumption: sagemaker-sends-no-source-account
            permissions=job_permissions(features, self._place),
        )

    def _job_place(self, tags: Mapping[str, str]) -> JobPlace:
        network = self._network
        key = self.bucket.encryption_key
        return JobPlace(
            name=self.job.name,
            region=self._place.region,
            role_arn=self.role.role_arn,
            output_uri=f"s3://{self.bucket.bucket_name}/output",
            source_uri=self._source.uri if self._source else None,
            checkpoint_uri=self._checkpoint_uri,
            subnet_ids=tuple(subnet.subnet_id for subnet in network.compute_subnets.values()) if network else (),
            security_group_ids=(network.security_group.security_group_id,) if network else (),
            volume_key_arn=self.encryption_key.key_arn,
            output_key_arn=key.key_arn if key else None,
            tags={"llm-fleet:training-job": self.job.name, **tags},
        )

    @property
    def _checkpoint_uri(self) -> str:
        return f"s3://{self.bucket.bucket_name}/checkpoints/{self.job.name}"

    def _follow(self, watch: "TrainingWatch | None", watched: JobWatch | None) -> Mapping[str, str]:
        if watch is None:
            return {}
        checkpoints = self.job.checkpoints
        return watch.follow(
            self,
            self.job,
            role=self.role,
            checkpoint_uri=(checkpoints.uri or self._checkpoint_uri) if checkpoints else None,
            settings=watched,
            keys=self._keys(),
        )

    def _keys(self) -> list[kms.IKey]:
        """Return the keys of volumes and checkpoints without duplicates."""
        checkpoints = self.job.checkpoints
        keys = [self.encryption_key]
        if checkpoints is not None and checkpoints.uri is None and self.bucket.encryption_key is not None:
            keys.append(self.bucket.encryption_key)
        if checkpoints is not None and checkpoints.key_arn is not None:
            keys.append(kms.Key.from_key_arn(self, "CheckpointKey", checkpoints.key_arn))
        return list({key.key_arn: key for key in keys}.values())
