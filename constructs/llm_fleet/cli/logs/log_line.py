"""One line of a log in CloudWatch."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class LogLine:
    """One event of a log stream."""

    time: datetime
    stream: str
    text: str
