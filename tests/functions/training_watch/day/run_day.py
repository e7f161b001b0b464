"""Simulates the day: events happen, the function handles messages, and crashes randomly."""

import heapq
import json
import random
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from llm_fleet.functions.training_watch.clusters import Parts
from llm_fleet.functions.training_watch.handler import serve
from llm_fleet.functions.training_watch.settings import DeployedEnvironment, Settings
from tests.functions.training_watch.day.clock_and_queue import Clock, Queue
from tests.functions.training_watch.day.crashes import Crash, CrashingClient, RunCrash
from tests.functions.training_watch.day.script import LINES, MOST, Line
from tests.functions.training_watch.day.world import METRICS, World

DAY_START = 1_800_000_000.0
DAY = 24 * 3600
TOPIC = "arn:aws:sns:us-west-2:123456789012:watch"
_KINDS = {"loss-spike": {"factor": 2.0}, "throughput": {"fraction": 0.5}, "nan": {}, "stall": {}}
_WINDOW = {"period": 60, "datapoints": 3, "periods": 30}
SETTINGS = {
    "prefixes": ["llama-", "frugal-", "prefixed-"],
    "max_restarts": MOST,
    "layout": "hugging-face",
    "alarms": {kind: {"metric": METRICS[kind], **_WINDOW, **numbers} for kind, numbers in _KINDS.items()},
    "jobs": {"frugal-": {"max_restarts": 1}},
}
SERVICES = ("sagemaker", "cloudwatch", "dynamodb", "s3", "sns")


@dataclass
class _Recorded:
    """DynamoDB, with one operation recorded."""

    client: Any
    update_item: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)


@dataclass
class Day:
    """A watch, its environment, and its crashes."""

    world: World
    clock: Clock
    queue: Queue
    chance: random.Random
    raw: Any
    crash_chance: float
    sweep_every: float = 3600.0
    runs: int = 0
    crashes: int = 0
    overlaps: int = 0
    calls: int = 0
    decided: list[str] = field(default_factory=lambda: [])
    """Job names, one for each written decision."""

    def simulate(self, *, until: float = DAY + 12 * 3600) -> None:
        """Simulate the day, and the hours after it without new events and crashes."""
        self.world.open_the_day()
        self._plan_sweeps(until)
        self.world.at(22 * 3600, self.world.pad)
        self.world.observe()
        while (moment := self._next()) is not None and moment < DAY_START + until:
            self.clock.now = max(self.clock.now, moment)
            while self.world.plan and self.world.plan[0][0] <= self.clock.now:
                heapq.heappop(self.world.plan)[2]()
                self.world.observe()
            self._serve_next(self.crash_chance if self.clock.now < DAY_START + DAY else 0.0)
            self.world.observe()

    def _plan_sweeps(self, until: float) -> None:
        for number in range(int(until // self.sweep_every)):
            self.world.at(number * self.sweep_every, lambda: self.queue.put(json.dumps({"kind": "sweep"}), 0))

    def _next(self) -> float | None:
        times = [self.world.plan[0][0] if self.world.plan else None, self.queue.next_time()]
        return min((time for time in times if time is not None), default=None)

    def _serve_next(self, crash_chance: float, *, nested: bool = False) -> None:
        batch = self.queue.receive()
        if batch is None:
            return
        # A run can overlap with another one of the same or another message: two run concurrently.
        twin = self.chance.random() < 0.7
        other = (lambda: self._serve_again(batch)) if twin else (lambda: self._serve_next(0.0, nested=True))
        run_crash = RunCrash(self.chance, crash_chance, (lambda: None) if nested else other)
        run_crash.begin()
        self.runs += 1
        try:
            self.queue.done(batch, serve(self._parts(run_crash), batch))
        except Crash:
            pass
        finally:
            self.crashes += run_crash.crashes
            self.overlaps += run_crash.overlaps
            self.calls += run_crash.calls
            self.clock.now += self.chance.choice((0.2, 1, 5))

    def _serve_again(self, batch: dict[str, Any]) -> None:
        serve(self._parts(RunCrash(self.chance, 0.0)), batch)

    def _update(self, **request: Any) -> Any:
        answer = self.raw.dynamodb.update_item(**request)
        if ":decided" in request.get("ExpressionAttributeValues", {}):
            self.decided.append(request["Key"]["job"]["S"])
        return answer

    def _parts(self, run_crash: RunCrash) -> Parts:
        clients: Any = SimpleNamespace(
            **{name: CrashingClient(getattr(self.raw, name), run_crash) for name in SERVICES}
        )
        clients.sqs = CrashingClient(self.queue, run_crash)
        clients.dynamodb = CrashingClient(_Recorded(self.raw.dynamodb, self._update), run_crash)
        deployed_environment = DeployedEnvironment(
            watch="day",
            table="record",
            queue_url="https://queue",
            topic_arn=TOPIC,
            settings=Settings.read(json.dumps(SETTINGS)),
        )
        return Parts(deployed_environment=deployed_environment, clients=clients, now=self.clock, copy_threads=1)


def new_day(
    raw: Any, clock: Clock, *, seed: int, crash_chance: float, sweep_every: float, lines: tuple[Line, ...] = LINES
) -> Day:
    """Return a random day; the same seed gives the same day."""
    chance = random.Random(seed)
    queue = Queue(clock, chance)
    world = World(lines, clock, queue, chance, raw, raw.jobs)
    return Day(world, clock, queue, chance, raw, crash_chance, sweep_every)
