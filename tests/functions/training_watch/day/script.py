"""The events of the day, and their expected results: derived from the script alone, not from the watch."""

from collections.abc import Iterator
from dataclasses import dataclass

MOST = 3
"""Maximum restarts of a series in the settings of the day; names that begin with `frugal-` have one."""
EVERY = 20
"""Minutes of training between two checkpoints."""
SICK = ("nan", "loss-spike", "stall", "throughput")
TEMPORARY = {
    "service": ("Failed", "Failed", "InternalServerError: We encountered an internal error. Please try again."),
    "capacity": ("Failed", "Failed", "CapacityError: Unable to provision requested ML compute capacity."),
    "spot": ("Stopped", "MaxWaitTimeExceeded", ""),
}
FINAL = {
    "complete": ("Completed", "Completed", ""),
    "user": ("Failed", "Failed", "AlgorithmError: ExecuteUserScriptError: ExitCode 1"),
    "person": ("Stopped", "Stopped", ""),
    "runtime": ("Stopped", "MaxRuntimeExceeded", ""),
    "recovered": ("Completed", "Completed", ""),
}


@dataclass(frozen=True)
class JobEnd:
    """The end of one job, some minutes after its training began."""

    kind: str
    minute: int


@dataclass(frozen=True)
class Line:
    """A job and its restarts."""

    root: str
    job_ends: tuple[JobEnd, ...]
    starts: int = 0
    """Minute of the day."""
    watched: bool = True
    tagged: bool = True
    checkpoints: bool = True
    silent: bool = False
    """All its events are lost."""
    name_taken: bool = False
    """Another job has the name of its first successor."""


@dataclass(frozen=True)
class Outcome:
    """The expected final state of one job."""

    job: str
    begins_at: int
    """Step from which its program resumes."""
    place: str
    """Its checkpoint prefix in the bucket."""
    given: str | None
    """The only checkpoint that it finds, as `job of origin/folder`; `None`: those of its predecessors."""
    decision: str | None
    """`None`: no decision."""
    reported: frozenset[str]


def outcomes(line: Line) -> Iterator[Outcome]:
    """Yield all expected jobs of a series, in order."""
    most = 1 if line.root.startswith("frugal-") else MOST
    begins, given, place = 0, None, f"runs/{line.root}"
    whole: list[tuple[int, str]] = []
    for attempt, job_end in enumerate(line.job_ends):
        name = f"{line.root}-r{attempt}" if attempt else line.root
        steps = range(begins + EVERY, begins + job_end.minute, EVERY) if line.checkpoints else range(0)
        whole += [(step, f"{name}/checkpoint-{step}") for step in steps]
        decision, reported = _decision(line, job_end, attempt, most, bool(whole))
        yield Outcome(job=name, begins_at=begins, place=place, given=given, decision=decision, reported=reported)
        if decision != "restart":
            return
        begins, origin = max(whole, default=(0, ""))
        if job_end.kind in SICK:
            given, whole = origin, [(begins, origin)]
            place = f"runs/{line.root}/{line.root}-r{attempt + 1}"
        elif given:
            given = None


def _decision(line: Line, job_end: JobEnd, attempt: int, most: int, whole: bool) -> tuple[str | None, frozenset[str]]:
    if not line.watched:
        return None, frozenset()
    if job_end.kind in SICK and not line.checkpoints:
        return "leave", frozenset({"notice", "completed"})
    stopped = frozenset({"stop"}) if job_end.kind in SICK else frozenset[str]()
    if job_end.kind in FINAL:
        return "leave", frozenset({"completed"} if FINAL[job_end.kind][0] == "Completed" else {"leave"})
    if attempt == most or (job_end.kind in SICK and not whole):
        return "give_up", stopped | {"give_up"}
    if line.name_taken:
        return "give_up", stopped | {"restart", "give_up"}
    return "restart", stopped | {"restart"}


def _line(root: str, job_ends: str, starts: int, **words: bool) -> Line:
    pairs = (job_end.split("@") for job_end in job_ends.split())
    return Line(root, tuple(JobEnd(kind, int(minute)) for kind, minute in pairs), starts, **words)


LINES = (
    _line("llama-quiet", "complete@100", 0),
    _line("llama-service", "service@50 complete@70", 5),
    _line("llama-capacity", "capacity@1 capacity@1 complete@70", 11),
    _line("llama-spike", "loss-spike@70 complete@90", 17),
    _line("llama-nan", "nan@75 service@50 complete@50", 23),
    _line("llama-unlucky", "service@30 service@30 capacity@1 service@30", 29),
    _line("llama-own-fault", "user@45", 35),
    _line("llama-stopped", "person@65", 41),
    _line("llama-long", "runtime@130", 47),
    _line("llama-stall", "stall@70 loss-spike@70 complete@50", 53),
    _line("llama-slow", "throughput@55 complete@50", 59),
    _line("llama-sick", "nan@50 nan@50 nan@50 nan@50", 65),
    _line("llama-too-soon", "nan@10", 71),
    _line("llama-early", "nan@70 loss-spike@5 complete@60", 77),
    _line("llama-recovered", "recovered@120", 83),
    _line("llama-spot", "spot@40 spot@90 complete@50", 89),
    _line("llama-bare", "loss-spike@60", 95, checkpoints=False),
    _line("llama-unheard", "service@50 complete@60", 101, silent=True),
    _line("llama-taken", "service@50", 107, name_taken=True),
    _line("frugal-model", "service@50 nan@50", 113),
    _line("prefixed-by-name", "capacity@1 complete@60", 119, tagged=False),
    _line("strangers-job", "service@30", 125, watched=False),
    _line("llama-" + "long-name-" * 5 + "ends-it", "service@30 complete@30", 131),
)
