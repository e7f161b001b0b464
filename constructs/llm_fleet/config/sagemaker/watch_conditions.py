"""When a job is believed to run in vain."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.config.sagemaker.watch_loss_spike import LossSpikeConfig
from llm_fleet.config.sagemaker.watch_not_a_number import NotANumberConfig
from llm_fleet.config.sagemaker.watch_short_schema import or_metric
from llm_fleet.config.sagemaker.watch_stall import StallConfig
from llm_fleet.config.sagemaker.watch_throughput_drop import ThroughputDropConfig
from llm_fleet.spec.model import FleetModel


class WatchConditionsConfig(FleetModel):
    """When a job is believed to run in vain: it is stopped, and resumed from the checkpoint before."""

    other_words: ClassVar[Mapping[str, str]] = {
        "nan": "write `not_a_number`",
        "spike": "write `loss_spike`",
        "throughput": "write `throughput_drop`",
        "stalled": "write `stall`",
    }

    loss_spike: LossSpikeConfig | None = Field(default=None, json_schema_extra=or_metric)
    """The loss is well above the best of late. Default: not looked at."""
    stall: StallConfig | None = Field(default=None, json_schema_extra=or_metric)
    """Nothing comes of a metric any more. Default: not looked at."""
    not_a_number: NotANumberConfig | None = Field(default=None, json_schema_extra=or_metric)
    """The log says that the loss is NaN. Default: not looked at."""
    throughput_drop: ThroughputDropConfig | None = Field(default=None, json_schema_extra=or_metric)
    """The throughput is well below the best of late. Default: not looked at."""

    @property
    def metrics(self) -> Mapping[str, str]:
        """The metrics that are looked at, by the kinds of conditions."""
        told = {
            "loss_spike": self.loss_spike,
            "stall": self.stall,
            "not_a_number": self.not_a_number,
            "throughput_drop": self.throughput_drop,
        }
        return {kind: condition.metric for kind, condition in told.items() if condition is not None}
