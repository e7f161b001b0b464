"""The watch over training jobs: how it starts jobs again, when a job runs in vain, and where checkpoints are."""

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
_HOW_OFTEN = "write how often one job may be started again; 0 for a watch that only tells"
_WINDOW = Limit(minimum=1, maximum=_LIMITS.alarm_window_minutes)
_BAD_MINUTES = Within(limit=_WINDOW, code=_CONDITION, what="the number of minutes")
_WINDOW_MINUTES = Within(limit=_WINDOW, code=_CONDITION, what="the window")
_STALL = Limit(minimum=2, maximum=_LIMITS.alarm_window_minutes)
"""Minutes: SageMaker sends what it reads in logs once a minute, so that one without a value says nothing."""
_GRACE = Within(limit=Limit(minimum=0, maximum=_LIMITS.alarm_window_minutes), code=_CONDITION, what="the grace")


class RestartPolicy(Spec):
    """How a watch starts jobs again. What is wrong with it has LF985."""

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
            what="the number of restarts",
            below=_HOW_OFTEN,
            above=_HOW_OFTEN,
        ),
    ] = _FACTS.restart.maximum
    """How often one job is started again, all causes together; 0 only tells. Default: 3."""
    back_off_seconds: Annotated[
        Seconds, Field(alias="wait"), Within(limit=_WAIT, code=_RESTARTS, what="the wait before the first restart")
    ] = _FACTS.restart.back_off_seconds
    """Before the first restart; doubled before each further one. Default: `1 min`."""
    longest_back_off_seconds: Annotated[
        Seconds | None,
        Field(alias="longest_wait"),
        Within(limit=_WAIT, code=_RESTARTS, what="the longest wait before a restart"),
    ] = None
    """However often it was doubled. Default: `1 h`, or the first wait where that is longer."""
    at_max_runtime: Annotated[bool, Field(alias="after_max_runtime")] = _FACTS.restart.at_max_runtime
    """Whether a job that was stopped for its maximum runtime goes on in another. Default: no.

    The maximum is what the job's owner was ready to pay.
    """

    @property
    def longest_wait_seconds(self) -> int:
        """The seconds that no wait is longer than."""
        if self.longest_back_off_seconds is not None:
            return self.longest_back_off_seconds
        default = _FACTS.restart.longest_back_off_seconds
        return default if is_unresolved(self.back_off_seconds) else max(default, self.back_off_seconds)


class LossSpike(Spec):
    """The loss is `factor` times the smallest of the window, or more: the job is stopped, and resumed from before."""

    metric: Annotated[str, SHORTHAND, Field(examples=["train:loss"]), InRequest("metric")]
    """Name of the job's metric that reads the loss."""
    factor: Annotated[float, InRequest("factor")] = _FACTS.loss_spike.factor
    """How many times the smallest minute of the window. Default: 2."""
    minutes: Annotated[Minutes, Field(alias="for"), _BAD_MINUTES, InRequest("datapoints")] = _FACTS.loss_spike.minutes
    """How many minutes of the window must be so bad. Default: `3 min`; one batch alone is no divergence."""
    window_minutes: Annotated[Minutes, Field(alias="window"), _WINDOW_MINUTES, InRequest("periods")] = (
        _FACTS.loss_spike.window_minutes
    )
    """How far back it looks, up to `24 h`. Default: `30 min`."""


class Stall(Spec):
    """A metric of which nothing has come for so long: the job is stopped, and resumed."""

    metric: Annotated[str, SHORTHAND, Field(examples=["train:loss"]), InRequest("metric")]
    """Name of one of the job's metrics that each step writes."""
    minutes: Annotated[
        Minutes,
        Field(alias="for"),
        Within(limit=_STALL, code=_CONDITION, what="the minutes without a value"),
        InRequest("periods"),
    ] = _FACTS.stall.minutes
    """How long nothing may come, up to `24 h`. Default: `15 min`. Evaluation and a slow checkpoint must fit in."""


class NotANumber(Spec):
    r"""The log says that the loss is NaN: the job is stopped, and resumed from before.

    CloudWatch takes no NaN, so that `metric` is not the loss itself. It is a metric definition whose regex captures
    another number, e.g. the step, from lines whose loss is none: `step[ =:]+(\d+).*loss[ =:]+(?:nan|inf)`. Any value
    of it is a sign.
    """

    metric: Annotated[str, SHORTHAND, Field(examples=["train:loss_nan"]), InRequest("metric")]
    """Name of the job's metric whose regex captures a number, e.g. the step, from lines whose loss is NaN."""


class ThroughputDrop(Spec):
    """The throughput is below a fraction of the best of the window: the job is stopped, and resumed elsewhere."""

    metric: Annotated[str, SHORTHAND, Field(examples=["train:tokens_per_second"]), InRequest("metric")]
    """Name of the job's metric that reads the throughput."""
    below_fraction: Annotated[float, Field(alias="below"), InRequest("fraction")] = (
        _FACTS.throughput_drop.below_fraction
    )
    """Of the best minute of the window. Default: 0.5."""
    minutes: Annotated[Minutes, Field(alias="for"), _BAD_MINUTES, InRequest("datapoints")] = (
        _FACTS.throughput_drop.minutes
    )
    """How many minutes of the window must be so bad. Default: `10 min`; evaluation is slow as well."""
    window_minutes: Annotated[Minutes, Field(alias="window"), _WINDOW_MINUTES, InRequest("periods")] = (
        _FACTS.throughput_drop.window_minutes
    )
    """How far back it looks, up to `24 h`. Default: `30 min`."""


WatchCondition = LossSpike | Stall | NotANumber | ThroughputDrop


class WatchConditions(Spec):
    """When a job is believed to run in vain: it is stopped, and resumed from the checkpoint before.

    What is wrong with a condition has LF986, a metric that the job does not define LF987.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "nan": "write `not_a_number`",
        "spike": "write `loss_spike`",
        "throughput": "write `throughput_drop`",
        "stalled": "write `stall`",
    }

    loss_spike: LossSpike | None = None
    """The loss is well above the best of late. Default: not looked at."""
    stall: Stall | None = None
    """Nothing comes of a metric any more. Default: not looked at."""
    not_a_number: NotANumber | None = None
    """The log says that the loss is NaN. Default: not looked at."""
    throughput_drop: ThroughputDrop | None = None
    """The throughput is well below the best of late. Default: not looked at."""

    @property
    def by_kind(self) -> Mapping[str, WatchCondition]:
        """The conditions that are looked at."""
        kinds: dict[str, WatchCondition | None] = {
            "loss_spike": self.loss_spike,
            "stall": self.stall,
            "not_a_number": self.not_a_number,
            "throughput_drop": self.throughput_drop,
        }
        return {name: condition for name, condition in kinds.items() if condition is not None}

    @property
    def metrics(self) -> Mapping[str, str]:
        """The metrics that are looked at, by the kinds of conditions."""
        return {name: condition.metric for name, condition in self.by_kind.items()}


def _layouts(schema: dict[str, Any]) -> None:
    """Offer the layouts; which there are is for the rule to say."""
    schema["anyOf"][0]["enum"] = list(_FACTS.layouts)


class CheckpointLayout(Spec):
    """How a watch tells one checkpoint from another, and a whole one from half of one (LF990).

    It matters for divergence, where the newest checkpoint is the wrong one. A job that failed finds its own.
    """

    other_words: ClassVar[Mapping[str, str]] = {"folder": "write `pattern`", "regex": "write `pattern`"}

    known: Annotated[
        str | None, SHORTHAND, Field(alias="layout", examples=["hugging-face"], json_schema_extra=_layouts)
    ] = None
    """`hugging-face`, `neuronx-distributed`, `llm-fleet` or `any`. Default: what `pattern` says."""
    pattern: Annotated[str | None, Field(examples=[r"step_(\d+)"])] = None
    """Regular expression of a checkpoint's folder, right below the prefix; its one group is the step. Default: that of
    `layout`."""
    marker: Annotated[str | None, Field(examples=["done"])] = None
    """A file in that folder which is written last. Default: that of `layout`, or none: ages alone tell a whole
    checkpoint."""
    pointer: Annotated[str | None, Field(examples=["latest"])] = None
    """A file beside the folders that names the newest one. Default: that of `layout`, or none."""

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
        """Return the layout of jobs that keep to none: all that was written well before the trouble is copied."""
        return cls(known="any")

    @classmethod
    def of(cls, *, pattern: str, marker: str | None = None, pointer: str | None = None) -> Self:
        r"""Return a layout of its own, e.g. `CheckpointLayout.of(pattern=r"step_(\d+)", marker="done")`."""
        return cls(pattern=pattern, marker=marker, pointer=pointer)


class JobWatch(Spec):
    """How one training job is watched differently from what its watch says."""

    restart: RestartPolicy | None = None
    """How it is started again. Default: as `watch` says."""
    conditions: Annotated[WatchConditions | None, Field(alias="when")] = None
    """When it runs in vain; `{}` for never. Default: as `watch` says."""
    checkpoints: CheckpointLayout | None = None
    """How its checkpoints lie. Default: as `watch` says."""
    grace_minutes: Annotated[Minutes | None, Field(alias="grace"), _GRACE] = None
    """How long it trains before a condition is believed. Default: as `watch` says."""


class WatchedJobs(Spec):
    """Jobs that notebooks, the SDK or a pipeline start: known by what their names begin with (LF989, LF993)."""

    prefix: Annotated[str | None, Field(examples=["alice-"])] = None
    """What the jobs' names begin with, e.g. `alice-` for the SDK's `base_job_name="alice-llama"`.

    Default: the key and a hyphen.
    """
    roles: Several[Role] = ()
    """What the jobs run as: the watch may pass these on, and no other. Needed where it restarts. Default: none."""
    checkpoints: Annotated[Several[str], Field(examples=[["s3://my-bucket/alice"]])] = ()
    """S3 URIs below which the jobs keep checkpoints. Needed where it restarts. Default: none."""
    encryption_keys: Annotated[Several[Key], Field(alias="keys")] = ()
    """What encrypts those buckets, and volumes of the jobs. Default: none but the services' own."""


class WatchSpec(Spec):
    """How a watch looks after training jobs: starts jobs again that failed, and stops those that run in vain."""

    other_words: ClassVar[Mapping[str, str]] = {
        "conditions": "write `when`",
        **dict.fromkeys(("alarms", "notify"), "write `topic`"),
        **dict.fromkeys(("retry", "restarts"), "write `restart`"),
        "jobs": "write `others`; training jobs of the fleet are watched as they are",
    }

    restart: RestartPolicy = RestartPolicy()
    """How jobs are started again: a number of times, or more about it. Default: three times."""
    conditions: Annotated[WatchConditions, Field(alias="when")] = WatchConditions()
    """When a job is believed to run in vain. Default: never."""
    checkpoints: CheckpointLayout = CheckpointLayout(known="any")
    """How checkpoints lie: `hugging-face`, `neuronx-distributed`, `llm-fleet`, or a pattern. Default: `any`."""
    grace_minutes: Annotated[Minutes, Field(alias="grace"), _GRACE] = _FACTS.grace_minutes
    """How long a job trains before a spike, a stall or a drop is believed. Default: `30 min`."""
    others: Mapping[str, WatchedJobs] = {}
    """Jobs that notebooks, the SDK or a pipeline start, by a name of yours. Default: none."""

    @property
    def prefixes(self) -> Mapping[str, str]:
        """What the names of `others` begin with."""
        return {name: f"{name}-" if jobs.prefix is None else jobs.prefix for name, jobs in self.others.items()}
