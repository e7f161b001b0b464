"""Prints the time and memory of synth, as medians of interleaved runs and as ratios to the empty app."""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tools.bench.fleets import one_cluster, two_clusters
from tools.bench.runs import Case, Samples, interleaved
from tools.synth_environment import ROOT, use_project_node

EXAMPLE = "examples/hyperpod-trn1.yaml"
OFF, ON = {"CDK_VALIDATION": "false"}, {"CDK_VALIDATION": "true"}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="counted runs of each case (default 7)")
    rounds = parser.parse_args().rounds
    use_project_node()
    with tempfile.TemporaryDirectory() as folder:
        samples = interleaved(_cases(Path(folder)), rounds=rounds, progress=lambda n: _progress(n, rounds))
    print(_report(samples, rounds))


def _cases(folder: Path) -> dict[str, Case]:
    empty = ("tools/bench/empty_app.py",)
    return {
        "python": Case(arguments=("-c", "pass")),
        "import aws_cdk": Case(arguments=("-c", "import aws_cdk")),
        "import aws_cdk and llm_fleet": Case(arguments=("-c", "import aws_cdk, llm_fleet")),
        "empty app": Case(arguments=empty, environment=OFF),
        "example": synth_of(EXAMPLE, OFF),
        "empty app, validated": Case(arguments=empty, environment=ON),
        "example, validated": synth_of(EXAMPLE, ON),
        "1 worker group": synth_of(one_cluster(folder, worker_groups=1), OFF),
        "99 worker groups": synth_of(one_cluster(folder, worker_groups=99), OFF),
        "2 cluster stacks": synth_of(two_clusters(folder), OFF),
        "50 queues of 50": Case(arguments=("-m", "tools.bench.fifty_queues"), environment=OFF),
    }


def synth_of(fleet: str, validation: dict[str, str]) -> Case:
    """Return the command of `cdk synth` in cdk.json."""
    _, *arguments = json.loads((ROOT / "cdk.json").read_text())["app"].split()
    return Case(arguments=tuple(arguments), environment={**validation, "LLM_FLEET_FILE": fleet})


def _progress(number: int, rounds: int) -> None:
    print("warming up" if not number else f"round {number} of {rounds}", file=sys.stderr, flush=True)


def _report(samples: dict[str, Samples], rounds: int) -> str:
    """Return both tables."""
    lines = [
        f"medians of {rounds} interleaved runs after a warm-up; the CDK's validator is off unless it says 'validated'",
        "",
        f"{'case':<32}{'seconds':>9}{'processor':>11}{'peak MiB':>10}",
        *(
            f"{name:<32}{sample.wall:>9.2f}{sample.processor:>11.2f}{sample.memory:>10.0f}"
            for name, sample in samples.items()
        ),
        "",
        f"{'ratio':<52}{'value':>8}  aim",
        *(f"{name:<52}{value:>8.3f}  {aim}" for name, value, aim in _ratios(samples)),
        "",
        "processor is the minimum of user and system CPU seconds, of Python and its Node together",
        "peak MiB is the largest single process (Python, or the Node that jsii starts)",
    ]
    return "\n".join(lines)


def _ratios(samples: dict[str, Samples]) -> list[tuple[str, float, str]]:
    """Return each ratio: name, value, and the goal if there is one."""
    wall = {name: sample.wall for name, sample in samples.items()}
    empty, few, many = wall["empty app"], wall["1 worker group"], wall["99 worker groups"]
    cdk_import = wall["import aws_cdk"] - wall["python"]
    our_import = wall["import aws_cdk and llm_fleet"] - wall["import aws_cdk"]
    validated = wall["example, validated"] / wall["empty app, validated"]
    return [
        ("synth of the example / empty app, validation off", wall["example"] / empty, "at most 2.2"),
        (
            "the same by processor time",
            samples["example"].processor / samples["empty app"].processor,
            "under 4.5, by a test",
        ),
        ("synth of the example / empty app, both validated", validated, ""),
        ("import llm_fleet / import aws_cdk", our_import / cdk_import, "at most 0.15"),
        ("synth with 100 groups / with 2", many / few, "under 2"),
        ("one more instance group / empty app", (many - few) / 98 / empty, ""),
        ("one more cluster stack / empty app", (wall["2 cluster stacks"] - few) / empty, ""),
        ("50 queues of 50 beyond the empty app, seconds", wall["50 queues of 50"] - empty, "under 1"),
    ]


if __name__ == "__main__":
    main()
