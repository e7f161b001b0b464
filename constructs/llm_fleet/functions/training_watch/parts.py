"""All that a run of the watch works with; what is not AWS's can be another's in a test."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from .clients import Clients
from .job_alarms import JobAlarms
from .later import Later
from .record import Record
from .settings import Surroundings
from .tell import Teller


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """One run's surroundings, clients and clock."""

    surroundings: Surroundings
    clients: Clients
    now: Callable[[], float] = time.time
    """Seconds since 1970."""
    in_time: Callable[[], bool] = lambda: True
    """Whether there is time left in this run for another object's copy."""
    copy_threads: int = 8

    @property
    def record(self) -> Record:
        """The table."""
        return Record(self.clients.dynamodb, self.surroundings.table, self.surroundings.watch)

    @property
    def alarms(self) -> JobAlarms:
        """The watch's alarms."""
        return JobAlarms(self.clients.cloudwatch, self.surroundings.alarm_prefix)

    @property
    def teller(self) -> Teller:
        """The topic."""
        return Teller(self.clients.sns, self.surroundings.topic_arn, self.surroundings.watch)

    @property
    def later(self) -> Later:
        """The queue."""
        return Later(self.clients.sqs, self.surroundings.queue_url)
