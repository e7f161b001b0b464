"""The watch of training jobs and HyperPod clusters."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast, runtime_checkable

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.catalog.training_job import training_watch_facts
from llm_fleet.iam.statements import Place, reasons_of, statement_of
from llm_fleet.notifications.alarm_topic import AlarmTopic
from llm_fleet.rules.fields import Form, check_forms, check_is_spec, key_form, topic_form
from llm_fleet.rules.problem import Problem, raise_problems, under
from llm_fleet.rules.sagemaker import watch as rules
from llm_fleet.rules.sagemaker.watch_followed import (
    check_cluster_arn,
    check_followed,
    check_room,
    check_watch_name,
)
from llm_fleet.sagemaker.watch_events import WatchAlarms, WatchRules, text_at_synth, validate_at_synth
from llm_fleet.sagemaker.watch_function import OPEN_INDEX, WatchFunction, WatchQueue, WatchRecord, settings_text
from llm_fleet.sagemaker.watch_permissions import (
    JobScope,
    WatchContext,
    attach_job_policy,
    split_places,
    statement_suffix,
    watch_permissions,
)
from llm_fleet.spec.references import KEY, ROLE
from llm_fleet.spec.training_job import TrainingJobSpec
from llm_fleet.spec.watch import JobWatch, WatchSpec
from llm_fleet.storage.buckets import FleetKey


@runtime_checkable
class FollowedCluster(Protocol):
    """A HyperPod cluster of this app, or an imported one."""

    @property
    def cluster_arn(self) -> str:
        """The ARN, which ends with the cluster id."""
        ...


class TrainingWatch(Construct):
    """Restarts training jobs that failed because of the service, and stops jobs that make no progress.

    Rules send SageMaker events and CloudWatch alarms to a queue, which invokes a Lambda function. It writes each
    decision to a table before it acts on it, and publishes it to a topic, so repeated, late and reordered events are
    harmless. HyperPod node and cluster events are handled in the same way, and published with the message that the
    event omits. `follow` is for training jobs of llm-fleet, which call it; `others` for jobs that notebooks start.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        watch: WatchSpec = WatchSpec(),  # noqa: B008 - immutable
        *,
        name: str,
        clusters: Sequence[FollowedCluster | str] = (),
        topic: sns.ITopic | None = None,
        encryption_key: kms.IKey | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ) -> None:
        """Create the watch.

        - `watch`: its restarts and conditions. Default: three restarts and no condition, so only jobs that ended are
          checked.
        - `name`: 1 to 48 letters, digits and hyphens, unique in account and region: the value of the tag
          `llm-fleet:watch` on jobs, and part of the names of alarms.
        - `clusters`: HyperPod clusters, or their ARNs, whose events are published. Default: none.
        - `topic`: receives notifications. Default: a new `AlarmTopic`; subscribe to `topic`.
        - `encryption_key`: encrypts queue, record, log and topic. Default: a new one. The policy of an imported key
          must allow `kms:Decrypt` and `kms:GenerateDataKey*` for events.amazonaws.com, which writes to the queue, and
          for cloudwatch.amazonaws.com, whose alarms publish to the topic, and must allow CloudWatch Logs.
        - `removal_policy`: of the record. Default: it is retained.

        Raises `FleetError` with all of: LF900 for the name, LF985, LF986, LF989, LF990, LF993 and LF994 for `watch`,
        LF991 for an invalid cluster, LF992 for more jobs than IAM allows.
        """
        super().__init__(scope, id)
        _check(self.node.path, watch, name=name, clusters=clusters, topic=topic, encryption_key=encryption_key)
        self.name = name
        """Physical name, and the value of the tag `llm-fleet:watch` of its jobs."""
        self._watch = watch
        self._followed: dict[str, JobWatch] = {}
        self._clusters = [cluster if isinstance(cluster, str) else cluster.cluster_arn for cluster in clusters]
        self.encryption_key: kms.IKey = encryption_key or FleetKey(
            self, "Key", description="Encrypts the queue, the record and the log of a watch of training jobs"
        )
        """Encrypts queue, record, log, and the topic unless `topic` is set."""
        self.topic: sns.ITopic = topic or AlarmTopic(self, "Topic", encryption_key=self.encryption_key)
        """Receives decisions, and alarms on the watch itself."""
        self.queue = WatchQueue(self, "Queue", encryption_key=self.encryption_key)
        """The queue of events, and the dead-letter queue of failed ones."""
        self.record = WatchRecord(self, "Record", encryption_key=self.encryption_key, removal_policy=removal_policy)
        """The table of decisions."""
        self.function = self._make_function()
        """The function that decides."""
        self.rules = WatchRules(self, "Rules", queue=self.queue, alarm_prefix=self.alarm_prefix)
        """The rules for its events."""
        self.alarms = WatchAlarms(
            self,
            "Alarms",
            name=name,
            queue=self.queue.queue.queue_name,
            dead_letters=self.queue.dead_letters.queue_name,
            function=self.function.function.ref,
            topic_arn=self.topic.topic_arn,
        )
        """Alarms on the watch itself."""
        self._watch_others()
        if self._clusters:
            self.rules.forward_cluster_events(self._clusters)
        validate_at_synth(self, prefixes=self._prefixes, settings=self.settings_text, clusters=bool(self._clusters))

    @property
    def alarm_prefix(self) -> str:
        """Prefix of the alarm names of all watched jobs."""
        return f"{training_watch_facts().alarm_prefix}{self.name}/"

    @property
    def job_tags(self) -> Mapping[str, str]:
        """Tags of watched jobs."""
        return {training_watch_facts().tag: self.name}

    @property
    def record_table_name(self) -> str:
        """Table name of the record."""
        return self.record.table.ref

    @property
    def record_table_arn(self) -> str:
        """Table ARN of the record."""
        return self.record.table.attr_arn

    @property
    def record_key_arn(self) -> str | None:
        """ARN of the KMS key of the record's table."""
        return self.encryption_key.key_arn

    @property
    def answer_within_seconds(self) -> int:
        """Maximum seconds from the end of a job to its decision and successor, including the longest restart delay."""
        policies = [watch.restart for watch in (self._watch, *self._followed.values()) if watch.restart]
        return max(policy.longest_wait_seconds for policy in policies) + training_watch_facts().decision_seconds

    def follow(
        self,
        scope: Construct,
        job: TrainingJobSpec,
        *,
        role: iam.IRole,
        checkpoint_uri: str | None,
        settings: JobWatch | None = None,
        keys: Sequence[kms.IKey] = (),
    ) -> Mapping[str, str]:
        """Watch the jobs `<name of job>-…`, and return the tags that they must have.

        `scope`: the job's construct; a policy is created in it, in the job's stack. `role`: the jobs' execution role.
        `checkpoint_uri`: prefix of the checkpoints of all runs; `None` for a job without checkpoints. `settings`:
        overrides of the watch's settings. `keys`: of the checkpoints' bucket and of the jobs' volumes.

        Raises `FleetError` with all of: LF985, LF986 and LF990 for `settings`, LF987 for a condition on a metric that
        the job does not define, LF988 for restarts of a job without checkpoints, LF992 for too many
        jobs, LF994 for a job that is already followed.
        """
        own = settings or JobWatch()
        subject = scope.node.path
        raise_problems(check_is_spec(own, JobWatch, "settings"), subject=subject)
        raise_problems(under(rules.check_watch_settings(own), "settings"), subject=subject)
        prefix = f"{job.name}-"
        found = check_followed(job, self._watch, own, followed=self._prefixes())
        found += check_room([*self._prefixes(), prefix])
        raise_problems(found, subject=subject)
        places = split_places([checkpoint_uri] if checkpoint_uri else [])
        self._followed[prefix] = own
        self.rules.forward_job_events(self._prefixes)
        attach_job_policy(
            scope,
            self.role,
            JobScope(
                sid=statement_suffix(job.name),
                prefix=prefix,
                role_arns=[role.role_arn],
                checkpoints=places,
                key_arns=[key.key_arn for key in keys],
                training_plan_arn=job.training_plan_arn,
            ),
        )
        return self.job_tags

    @property
    def role(self) -> iam.IRole:
        """Execution role of the watch's function; each job attaches permissions to it."""
        return cast(iam.IRole, self.function.role)

    def _prefixes(self) -> list[str]:
        return [*self._watch.prefixes.values(), *self._followed]

    def _make_function(self) -> WatchFunction:
        function = WatchFunction(
            self,
            "Function",
            environment={
                "WATCH": self.name,
                "TABLE": self.record_table_name,
                "QUEUE_URL": self.queue.queue.queue_url,
                "TOPIC_ARN": self.topic.topic_arn,
                "SETTINGS": text_at_synth(self.settings_text),
            },
            log_encryption_key=self.encryption_key,
        )
        topic_key: kms.IKey | None = getattr(self.topic, "master_key", None)
        permissions = watch_permissions(
            Place.of(self),
            WatchContext(
                queue=self.queue.queue.queue_arn,
                table=self.record_table_arn,
                open_index=f"{self.record_table_arn}/index/{OPEN_INDEX}",
                topic=self.topic.topic_arn,
                topic_key=topic_key.key_arn if topic_key else None,
                key=self.encryption_key.key_arn,
                alarm_prefix=self.alarm_prefix,
                clusters=self._clusters,
            ),
        )
        function.allow_statements(
            [statement_of(permission) for permission in permissions], wildcards=reasons_of(permissions)
        )
        function.map_queue(self.queue.queue.queue_arn)
        return function

    def _watch_others(self) -> None:
        for name, jobs in self._watch.others.items():
            prefix = self._watch.prefixes[name]
            self.rules.forward_job_events(self._prefixes)
            attach_job_policy(
                Construct(self, f"Jobs-{prefix}"),
                self.role,
                JobScope(
                    sid=statement_suffix(prefix),
                    prefix=prefix,
                    role_arns=[ROLE.name_of(role) for role in jobs.roles],
                    checkpoints=split_places(jobs.checkpoints),
                    key_arns=[KEY.name_of(key) for key in jobs.encryption_keys],
                ),
            )

    def settings_text(self) -> str:
        """Return the function's settings with the jobs followed so far; it is called at synth."""
        return settings_text(self._watch, prefixes=self._prefixes(), own=self._followed, clusters=bool(self._clusters))


_FORMS: Mapping[str, Form] = {
    "name": Form(wanted="a text", types=(str,), remedy='write a name, e.g. "training"'),
    "encryption_key": key_form(),
    "topic": topic_form('write AlarmTopic(self, "Topic"), or omit it'),
    "clusters": Form(
        wanted="a list of clusters", types=(list, tuple), remedy="write clusters=[cluster], or their ARNs"
    ),
}


def _check(subject: str, watch: WatchSpec, *, name: str, clusters: Sequence[Any], **given: Any) -> None:
    """Raise `FleetError` about `subject` with all problems of the arguments of `TrainingWatch`."""
    forms = check_forms({"name": name, "clusters": clusters, **given}, _FORMS)
    raise_problems([*check_is_spec(watch, WatchSpec, "watch"), *forms], subject=subject)
    found: list[Problem] = under(rules.check_watch(watch), "watch")
    found += [
        problem
        for index, cluster in enumerate(clusters)
        if not isinstance(cluster, FollowedCluster)
        for problem in check_cluster_arn(cluster, "clusters", index)
    ]
    raise_problems([*check_watch_name(name), *found, *check_room(list(watch.prefixes.values()))], subject=subject)
