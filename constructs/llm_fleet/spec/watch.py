"""The watch of training jobs: restarts, conditions that stop a job, and checkpoints."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from llm_fleet.catalog.data_file import Limit
from llm_fleet.catalog.training_job import training_watch_facts
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.problem import is_unresolved
from llm_fleet.spec.references import Key, Role
from llm_fleet.spec.spec import SHORTHAND, InRequest, Spec, Within
from llm_fleet.spec.values import Minutes, Seconds, Several

_FACTS = training_watch_facts()
_LIMITS = _FACTS.limits
_RESTARTS, _CONDITION = SageMakerCode.WATCH_RESTARTS, SageMakerCode.WATCH_CONDITION
_WAIT = Limit(minimum=1, maximum=_LIMITS.back_off_seconds)
_HOW_OFTEN = "write how many times a job may be restarted; 0 for a watch that only sends notifications"
_WINDOW = Limit(minimum=1, maximum=_LIMITS.alarm_window_minutes)
_BAD_MINUTES = Within(limit=_WINDOW, code=_CONDITION, what="`for`")
_WINDOW_MINUTES = Within(limit=_WINDOW, code=_CONDITION, what="`window`")
_STALL = Limit(minimum=2, maximum=_LIMITS.alarm_window_minutes)
"""Minutes. SageMaker publishes metrics of logs once a minute, so one minute without a value is normal."""
_GRACE = Within(limit=Limit(minimum=0, maximum=_LIMITS.alarm_window_minutes), code=_CONDITION, what="`grace`")


class RestartPolicy(Spec):
    """How a watch restarts jobs. Errors have LF985."""

    other_words: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("maximum", "times", "attempts", "retries"), "write `max`"),
        **dict.fromkeys(("back_off", "backoff", "delay"), "write `wait`"),
    }

    maximum: Annotated[
        int,
        SHORTHAND,
        Field(alias="max"),
        Within(
            limit=Limit(minimum=0, maximum=_LIMITS.restarts),
            code=_RESTARTS,
            what="`max`",
            below=_HOW_OFTEN,
            above=_HOW_OFTEN,
        ),
    ] = _FACTS.restart.maximum
    """Maximum number of restarts of a job, for all causes together; 0 only sends notifications. Default: 3."""
    back_off_seconds: Annotated[Seconds, Field(alias="wait"), Within(limit=_WAIT, code=_RESTARTS, what="`wait`")] = (
        _FACTS.restart.back_off_seconds
    )
    """Wait before the first restart; doubled before each later one. Default: `1 min`."""
    longest_back_off_seconds: Annotated[
        Seconds | None,
        Field(alias="longest_wait"),
        Within(limit=_WAIT, code=_RESTARTS, what="`longest_wait`"),
    ] = None
    """Maximum wait before a restart. Default: `1 h`, or `wait` if that is longer."""
    at_max_runtime: Annotated[bool, Field(alias="after_max_runtime")] = _FACTS.restart.at_max_runtime
    """Whether a job that was stopped at its maximum run time continues in another job. Default: no.

    The maximum run time limits the costs that the job's owner has accepted.
    """

    @property
    def longest_wait_seconds(self) -> int:
        """Maximum wait before a restart, in seconds."""
        if self.longest_back_off_seconds is not None:
            return self.longest_back_off_seconds
        default = _FACTS.restart.longest_back_off_seconds
        return default if is_unresolved(self.back_off_seconds) else max(default, self.back_off_seconds)


class LossSpike(Spec):
    """The loss is at least `factor` times the minimum of the window: the job is stopped, and resumed from an earlier
    checkpoint."""

    metric: Annotated[str, SHORTHAND, Field(examples=["train:loss"]), InRequest("metric")]
    """Name of the job's metric with the loss."""
    factor: Annotated[float, InRequest("factor")] = _FACTS.loss_spike.factor
    """Factor to the minimum of the window. Default: 2."""
    minutes: Annotated[Minutes, Field(alias="for"), _BAD_MINUTES, InRequest("datapoints")] = _FACTS.loss_spike.minutes
    """How many minutes of the window must exceed it. Default: `3 min`; a single batch is no divergence."""
    window_minutes: Annotated[Minutes, Field(alias="window"), _WINDOW_MINUTES, InRequest("periods")] = (
        _FACTS.loss_spike.window_minutes
    )
    """Length of the window, up to `24 h`. Default: `30 min`."""


class Stall(Spec):
    """A metric has no new values for some time: the job is stopped, and resumed."""

    metric: Annotated[str, SHORTHAND, Field(examples=["train:loss"]), InRequest("metric")]
    """Name of a metric of the job that each step writes."""
    minutes: Annotated[
        Minutes,
        Field(alias="for"),
        Within(limit=_STALL, code=_CONDITION, what="`for`"),
        InRequest("periods"),
    ] = _FACTS.stall.minutes
    """Time without values, up to `24 h`. Default: `15 min`. It must be longer than an evaluation and a slow
    checkpoint."""


class NotANumber(Spec):
    r"""The log shows that the loss is NaN: the job is stopped, and resumed from an earlier checkpoint.

    CloudWatch does not accept NaN, so `metric` is not the loss itself. It is a metric definition whose regular
    expression captures another number, e.g. the step, from lines in which the loss is NaN: `step[ =:]+(\d+).*loss[
    =:]+(?:nan|inf)`. Any value of the metric triggers the condition.
    """

    metric: Annotated[str, SHORTHAND, Field(examples=["train:loss_nan"]), InRequest("metric")]
    """Name of the job's metric whose regular expression captures a number, e.g. the step, from lines with a NaN
    loss."""


class ThroughputDrop(Spec):
    """The throughput is below a fraction of the maximum of the window: the job is stopped, and resumed on other
    instances."""

    metric: Annotated[str, SHORTHAND, Field(examples=["train:tokens_per_second"]), InRequest("metric")]
    """Name of the job's metric with the throughput."""
    below_fraction: Annotated[float, Field(alias="below"), InRequest("fraction")] = (
        _FACTS.throughput_drop.below_fraction
    )
    """Fraction of the maximum of the window. Default: 0.5."""
    minutes: Annotated[Minutes, Field(alias="for"), _BAD_MINUTES, InRequest("datapoints")] = (
        _FACTS.throughput_drop.minutes
    )
    """How many minutes of the window must be below it. Default: `10 min`; evaluation is slow as well."""
    window_minutes: Annotated[Minutes, Field(alias="window"), _WINDOW_MINUTES, InRequest("periods")] = (
        _FACTS.throughput_drop.window_minutes
    )
    """Length of the window, up to `24 h`. Default: `30 min`."""


WatchCondition = LossSpike | Stall | NotANumber | ThroughputDrop


class WatchConditions(Spec):
    """Conditions that stop a job because it makes no progress; it is resumed from an earlier checkpoint.

    An invalid condition has LF986, a metric that the job does not define LF987.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "nan": "write `not_a_number`",
        "spike": "write `loss_spike`",
        "throughput": "write `throughput_drop`",
        "stalled": "write `stall`",
    }

    loss_spike: LossSpike | None = None
    """The loss is far above its recent minimum. Default: not checked."""
    stall: Stall | None = None
    """A metric has no new values. Default: not checked."""
    not_a_number: NotANumber | None = None
    """The log shows that the loss is NaN. Default: not checked."""
    throughput_drop: ThroughputDrop | None = None
    """The throughput is far below its recent maximum. Default: not checked."""

    @property
    def by_kind(self) -> Mapping[str, WatchCondition]:
        """The conditions that are checked, by kind."""
        kinds: dict[str, WatchCondition | None] = {
            "loss_spike": self.loss_spike,
            "stall": self.stall,
            "not_a_number": self.not_a_number,
            "throughput_drop": self.throughput_drop,
        }
        return {name: condition for name, condition in kinds.items() if condition is not None}

    @property
    def metrics(self) -> Mapping[str, str]:
        """The metrics that are checked, by the kind of condition."""
        return {name: condition.metric for name, condition in self.by_kind.items()}


def _layouts(schema: dict[str, Any]) -> None:
    """Offer the layouts; a rule checks the value."""
    schema["anyOf"][0]["enum"] = list(_FACTS.layouts)


class CheckpointLayout(Spec):
    """How a watch recognizes checkpoints and complete ones (LF990).

    Needed after divergence, when the newest checkpoint must not be used. A job that failed finds its own newest
    checkpoint.
    """

    other_words: ClassVar[Mapping[str, str]] = {"folder": "write `pattern`", "regex": "write `pattern`"}

    known: Annotated[
        str | None, SHORTHAND, Field(alias="layout", examples=["hugging-face"], json_schema_extra=_layouts)
    ] = None
    """`hugging-face`, `neuronx-distributed`, `llm-fleet` or `any`. Default: the layout of `pattern`."""
    pattern: Annotated[str | None, Field(examples=[r"step_(\d+)"])] = None
    """Regular expression of the name of a checkpoint's folder, directly below the prefix; its only group is the step.
    Default: that of `layout`."""
    marker: Annotated[str | None, Field(examples=["done"])] = None
    """File in that folder that is written last. Default: that of `layout`, or none; then a checkpoint counts as
    complete by its age."""
    pointer: Annotated[str | None, Field(examples=["latest"])] = None
    """File next to the folders that contains the name of the newest one. Default: that of `layout`, or none."""

    @classmethod
    def in_python(cls) -> str:
        """Return how one is written in Python, for remedies."""
        return "CheckpointLayout.hugging_face(), or another layout"

    @classmethod
    def hugging_face(cls) -> Self:
        """Return the layout of `transformers.Trainer`: `checkpoint-<step>`, complete with its `trainer_state.json`."""
        return cls(known="hugging-face")

    @classmethod
    def neuronx_distributed(cls) -> Self:
        """Return the layout of NeuronX Distributed's `save_checkpoint`."""
        return cls(known="neuronx-distributed")

    @classmethod
    def llm_fleet(cls) -> Self:
        """Return the layout of llm-fleet's own training runtime."""
        return cls(known="llm-fleet")

    @classmethod
    def any(cls) -> Self:
        """Return the layout for jobs without a fixed layout: all files that were written well before the failure are
        copied."""
        return cls(known="any")

    @classmethod
    def of(cls, *, pattern: str, marker: str | None = None, pointer: str | None = None) -> Self:
        r"""Return a custom layout, e.g. `CheckpointLayout.of(pattern=r"step_(\d+)", marker="done")`."""
        return cls(pattern=pattern, marker=marker, pointer=pointer)


class JobWatch(Spec):
    """Settings of one training job that replace those of `watch`."""

    restart: RestartPolicy | None = None
    """Restarts. Default: as in `watch`."""
    conditions: Annotated[WatchConditions | None, Field(alias="when")] = None
    """Conditions that stop the job; `{}` for none. Default: as in `watch`."""
    checkpoints: CheckpointLayout | None = None
    """Checkpoint layout. Default: as in `watch`."""
    grace_minutes: Annotated[Minutes | None, Field(alias="grace"), _GRACE] = None
    """Training time before the conditions apply. Default: as in `watch`."""


class WatchedJobs(Spec):
    """Jobs that notebooks, the SDK or a pipeline start, found by the prefix of their names (LF989, LF993)."""

    prefix: Annotated[str | None, Field(examples=["alice-"])] = None
    """Prefix of the jobs' names, e.g. `alice-` for the SDK's `base_job_name="alice-llama"`.

    Default: the key and a hyphen.
    """
    roles: Several[Role] = ()
    """Execution roles of the jobs, which the watch may pass (`iam:PassRole`). Required for restarts. Default: none."""
    checkpoints: Annotated[Several[str], Field(examples=[["s3://my-bucket/alice"]])] = ()
    """S3 URIs below which the jobs store checkpoints. Required for restarts. Default: none."""
    encryption_keys: Annotated[Several[Key], Field(alias="keys")] = ()
    """KMS keys of those buckets and of the jobs' volumes. Default: only the services' own keys."""


class WatchSpec(Spec):
    """A watch of training jobs: it restarts failed jobs, and stops and resumes jobs that make no progress."""

    other_words: ClassVar[Mapping[str, str]] = {
        "conditions": "write `when`",
        **dict.fromkeys(("alarms", "notify"), "write `topic`"),
        **dict.fromkeys(("retry", "restarts"), "write `restart`"),
        "jobs": "write `others`; the training jobs of the fleet are always included",
    }

    restart: RestartPolicy = RestartPolicy()
    """Restarts: a maximum number, or a mapping. Default: three."""
    conditions: Annotated[WatchConditions, Field(alias="when")] = WatchConditions()
    """Conditions that stop a job because it makes no progress. Default: none."""
    checkpoints: CheckpointLayout = CheckpointLayout(known="any")
    """Checkpoint layout: `hugging-face`, `neuronx-distributed`, `llm-fleet`, or a pattern. Default: `any`."""
    grace_minutes: Annotated[Minutes, Field(alias="grace"), _GRACE] = _FACTS.grace_minutes
    """Training time before the conditions for a spike, a stall or a drop apply. Default: `30 min`."""
    others: Mapping[str, WatchedJobs] = {}
    """Jobs that notebooks, the SDK or a pipeline start, by a name of your choice. Default: none."""

    @property
    def prefixes(self) -> Mapping[str, str]:
        """Prefixes of the names of the jobs in `others`."""
        return {name: f"{name}-" if jobs.prefix is None else jobs.prefix for name, jobs in self.others.items()}
