"""SageMaker, CloudWatch, EventBridge and the training programs of the script: everything but the watch."""

import heapq
import itertools
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from llm_fleet_local.aws.resources.moto_fixes.sagemaker_training_jobs import TrainingJob
from tests.functions.training_watch.day.clock_and_queue import Clock, Queue, as_event
from tests.functions.training_watch.day.script import EVERY, FINAL, SICK, TEMPORARY, JobEnd, Line

BUCKET = "checkpoints-of-ours"
FILES = ("model.safetensors", "optimizer.pt", "trainer_state.json")
EVENTS = 200
SPARED = 80
"""After this number of events, none is duplicated immediately, so that the day has time for all; old ones follow."""
ROLE = "arn:aws:iam::123456789012:role/trains"
METRICS = {"nan": "loss_nan", "loss-spike": "loss", "stall": "loss", "throughput": "speed"}
DATAPOINTS = {"nan": 1, "loss-spike": 3, "stall": 30, "throughput": 3}
"""Minutes of bad values before each alarm changes to ALARM, as in the day's settings."""
TRAINING = "SageMaker Training Job State Change"
ALARM = "CloudWatch Alarm State Change"


@dataclass
class World:
    """`jobs`: SageMaker's jobs; `raw`: clients that do not crash."""

    lines: tuple[Line, ...]
    clock: Clock
    queue: Queue
    chance: random.Random
    raw: Any
    jobs: dict[str, Any]
    known: set[str] = field(default_factory=lambda: set())
    stopping: dict[str, float] = field(default_factory=lambda: {})
    """When each job was requested to stop."""
    sick: dict[str, tuple[str, float]] = field(default_factory=lambda: {})
    found: dict[str, dict[str, bytes]] = field(default_factory=lambda: {})
    began: dict[str, int] = field(default_factory=lambda: {})
    reported: list[str] = field(default_factory=lambda: [])
    events: int = 0
    plan: list[tuple[float, int, Callable[[], None]]] = field(default_factory=lambda: [])
    number: Any = field(default_factory=itertools.count)

    def at(self, seconds: float, what: Callable[[], None]) -> None:
        """Schedule something in `seconds`."""
        heapq.heappush(self.plan, (self.clock.now + seconds, next(self.number), what))

    def open_the_day(self) -> None:
        """Plan the first jobs."""
        for line in self.lines:
            self.at(line.starts * 60, lambda line=line: self._submit(line))

    def observe(self) -> None:
        """Apply the watch's requests: new jobs, jobs to stop, alarms that can now change to ALARM."""
        for name in [name for name in self.jobs if name not in self.known]:
            self.known.add(name)
            self._begin(name)
        for name, job in self.jobs.items():
            if job.reported["TrainingJobStatus"] == "Stopping" and name not in self.stopping:
                self.stopping[name] = self.clock.now
                self._changed(name)
                self.at(110, lambda name=name: self._end(name, ("Stopped", "Stopped", "")))
        for name, (kind, since) in list(self.sick.items()):
            if self._alarm(name, kind, since):
                del self.sick[name]

    def pad(self) -> None:
        """Deliver old events again, until the day has its number of events."""
        while self.reported and self.events < EVENTS:
            self.events += 1
            self.queue.put(self.chance.choice(self.reported), self.chance.choice((0, 30, 600)))

    def objects(self, uri: str) -> dict[str, bytes]:
        """Return the objects under a prefix, by path."""
        return self.raw.read(uri.removeprefix(f"s3://{BUCKET}/").rstrip("/") + "/")

    def line_of(self, name: str) -> tuple[Line, JobEnd] | None:
        """Return a job's series and its end; other names are unrelated jobs."""
        for line in self.lines:
            if name == line.root:
                return line, line.job_ends[0]
        job = self.jobs[name]
        tags = {tag["Key"]: tag["Value"] for tag in job.tags}
        for line in self.lines:
            if tags.get("llm-fleet:root") == line.root:
                attempt = int(tags["llm-fleet:attempt"])
                return line, line.job_ends[min(attempt, len(line.job_ends) - 1)]
        return None

    def _submit(self, line: Line) -> None:
        tags = [{"Key": "llm-fleet:watch", "Value": "day"}] if line.watched and line.tagged else []
        checkpoints = {"S3Uri": f"s3://{BUCKET}/runs/{line.root}", "LocalPath": "/opt/ml/checkpoints"}
        request: dict[str, Any] = {
            "TrainingJobName": line.root,
            "RoleArn": ROLE,
            "AlgorithmSpecification": {
                "TrainingImage": "image",
                "TrainingInputMode": "File",
                "MetricDefinitions": [{"Name": name, "Regex": "(x)"} for name in sorted(set(METRICS.values()))],
            },
            "OutputDataConfig": {"S3OutputPath": f"s3://{BUCKET}/out"},
            "ResourceConfig": {"InstanceType": "ml.g5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 50},
            "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
            "Environment": {"LLM_FLEET_EXECUTION": line.root},
            "Tags": [*tags, {"Key": "team", "Value": "research"}],
            **({"CheckpointConfig": checkpoints} if line.checkpoints else {}),
        }
        self.raw.sagemaker.create_training_job(**request)
        if line.name_taken:
            others = {
                **request,
                "TrainingJobName": f"{line.root}-r1",
                "Tags": [{"Key": "llm-fleet:watch", "Value": "others"}],
            }
            self.raw.sagemaker.create_training_job(**others)

    def _begin(self, name: str) -> None:
        found = self.line_of(name)
        if found is None:
            return
        line, job_end = found
        self._changed(name)
        if job_end.kind == "capacity":
            self.at(60, lambda: self._end(name, TEMPORARY["capacity"]))
            return
        self.at(120, lambda: self._train(name, line, job_end))

    def _train(self, name: str, line: Line, job_end: JobEnd) -> None:
        job: TrainingJob = self.jobs[name]
        job.move("InProgress", "Training", "")
        self._changed(name)
        uri = job.requested.get("CheckpointConfig", {}).get("S3Uri")
        files = self.objects(uri) if uri else {}
        self.found[name] = files
        steps = [int(path.split("/")[0].split("-")[1]) for path in files if path.endswith("/trainer_state.json")
                 and path.startswith("checkpoint-")]  # fmt: skip
        begins = self.began[name] = max(steps, default=0)
        if uri:
            for minute in range(EVERY, job_end.minute + (60 if job_end.kind in SICK else 0), EVERY):
                self.at(minute * 60, lambda step=begins + minute: self._save(name, uri, step, FILES))
            # An incomplete checkpoint, newer than all complete ones.
            self.at(job_end.minute * 60 - 150, lambda: self._save(name, uri, begins + job_end.minute - 2, FILES[:1]))
        self.at(job_end.minute * 60, lambda: self._cause(name, line, job_end))

    def _cause(self, name: str, line: Line, job_end: JobEnd) -> None:
        if job_end.kind in SICK:
            bad_since, seen_after = self.clock.now, DATAPOINTS[job_end.kind] * 60
            self.at(seen_after, lambda: self.sick.update({name: (job_end.kind, bad_since)}))
            if not line.checkpoints:
                self.at(3600, lambda: self._end(name, FINAL["complete"]))
            return
        if job_end.kind == "recovered":
            self._alarm(name, "loss-spike", self.clock.now)
            self._alarm(name, "loss-spike", self.clock.now, state="OK")
        self._end(name, (TEMPORARY | FINAL)[job_end.kind])

    def _save(self, name: str, uri: str, step: int, files: tuple[str, ...]) -> None:
        if self.jobs[name].reported["TrainingJobStatus"] not in ("InProgress", "Stopping"):
            return
        prefix = uri.removeprefix(f"s3://{BUCKET}/")
        for file in files:
            body = f"{name}/checkpoint-{step}/{file}".encode()
            self.raw.put(f"{prefix}/checkpoint-{step}/{file}", body)

    def _end(self, name: str, how: tuple[str, str, str]) -> None:
        job: TrainingJob = self.jobs[name]
        if job.reported["TrainingJobStatus"] in ("Completed", "Failed", "Stopped"):
            return
        uri = job.requested.get("CheckpointConfig", {}).get("S3Uri")
        if uri and name in self.stopping:
            self._save(name, uri, self.began.get(name, 0) + 999, FILES)
        job.move(*how)
        self._changed(name)

    def _alarm(self, name: str, kind: str, since: float, state: str = "ALARM") -> bool:
        alarm = f"llm-fleet/day/{name}/{kind}"
        if alarm not in self.raw.alarms():
            return False
        bad = {"timestamp": datetime.fromtimestamp(since, UTC).strftime("%Y-%m-%dT%H:%M:%S.000+0000")}
        value = 0.0 if kind in ("stall", "throughput") else 99.0
        data = json.dumps({"version": "1.0", "evaluatedDatapoints": [{**bad, "value": value}]})
        self.raw.cloudwatch.set_alarm_state(AlarmName=alarm, StateValue=state, StateReason="x", StateReasonData=data)
        self._send(name, ALARM, {"alarmName": alarm, "state": {"value": state}})
        return True

    def _changed(self, name: str) -> None:
        reported = self.jobs[name].reported
        detail = {"TrainingJobName": name, "TrainingJobStatus": reported["TrainingJobStatus"]}
        self._send(name, TRAINING, {**detail, "SecondaryStatus": reported["SecondaryStatus"]})

    def _send(self, name: str, kind: str, detail: dict[str, Any]) -> None:
        found = self.line_of(name)
        if found and found[0].silent:
            return
        time = datetime.fromtimestamp(self.clock.now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        body = as_event(kind, time, detail)
        self.reported.append(body)
        copies = self.chance.choice((1, 1, 2, 3)) if self.events < SPARED else 1
        for _ in range(copies):
            self.events += 1
            self.queue.put(body, self.chance.choice((0, 0, 0, 2, 30, 300, 900, 7200)))
