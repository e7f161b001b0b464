"""docs/training/fitting.md says what the code does: its tables are made by it, its example is worked by it."""

from typing import Any

import pytest

from llm_fleet.catalog.model_server import training_memory
from llm_fleet.catalog.training_environments import backends
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.training.run_plan import RunPlan
from llm_fleet.rules.training.run_spread import breakdown, spread
from llm_fleet.spec.jobs import ActivationCheckpointing, Backend
from tests.pages import check_made, examples, run_examples
from tests.rules.training.run.runs import LLAMA_2_7B, LLAMA_3_8B, LLAMA_3_70B, partition, run, values
from tools.synth_environment import ROOT

PAGE = ROOT / "docs" / "training" / "fitting.md"
GIB = 1024**3
NEMO = Backend.NEMO_MEGATRON
P5 = partition("ml.p5.48xlarge", 2)
KNOWN: list[dict[str, Any]] = [
    {"model": LLAMA_2_7B, "tensor_parallel": 8},
    {"model": LLAMA_2_7B, "tensor_parallel": 8, "nodes": 1},
    {"model": LLAMA_2_7B, "tensor_parallel": 1},
    {
        "model": LLAMA_3_70B,
        "tensor_parallel": 32,
        "pipeline_parallel": 8,
        "partition": partition(nodes=16),
        "backend": NEMO,
    },
    {"model": LLAMA_3_70B, "tensor_parallel": 32, "partition": partition(nodes=16)},
    {"model": LLAMA_3_8B, "partition": P5},
    {"model": LLAMA_3_70B, "partition": P5},
    {"model": LLAMA_3_70B, "partition": partition("ml.p5.48xlarge", 4)},
]
"""What the page tells of: fitting, or not."""


def shown() -> str:
    return reported(tensor_parallel=3)


def error() -> str:
    return reported(tensor_parallel=1, activation_checkpointing=ActivationCheckpointing.NONE)


def reported(**changes: Any) -> str:
    with pytest.raises(FleetError) as raised:
        run(**changes)
    return f"```text\n{raised.value}\n```"


def backend_table() -> str:
    rows = [
        "| backend | on | degrees beside data parallel | splits the sequence with tensor parallel |",
        "|---|---|---|---|",
    ]
    words = {"neuron": "Neuron", "gpu": "GPUs", "none": "processors"}
    for name, facts in backends().items():
        on = " or ".join(facts.families or [words[each] for each in facts.accelerators])
        degrees = ", ".join(f"`{each}`" for each in facts.degrees)
        rows.append(f"| `{name}` | {on} | {degrees} | {'yes' if facts.sequence_parallel else 'no'} |")
    return "\n".join(rows)


def state_table() -> str:
    rows = ["| precision | weights | gradients | optimizer | together, bytes a parameter |", "|---|---|---|---|---|"]
    for precision, state in training_memory().state.items():
        rows.append(f"| `{precision}` | {state.weights} | {state.gradients} | {state.optimizer} | {state.total} |")
    shares = training_memory().usable_share
    used = f"Of its memory, a run may fill {shares['neuron']:.0%} on Neuron, {shares['gpu']:.0%} on GPUs and "
    return "\n".join(
        [*rows, "", f"{used}{shares['none']:.0%} of a node's where it computes on processors: estimates too."]
    )


def example() -> str:
    """The formulas of the page with the numbers of Llama-2-7B, by hand; `test_memory.py` holds the code to the same."""
    plan = run(tensor_parallel=8).plan
    memory = run(tensor_parallel=8).memory
    assert memory is not None
    p = 6_738_415_616 / 8
    layer = 4096 * 18 * 4096 + (4096 * 8 * 11008 + 5 * 32 * 4096**2) / 8
    kept = 2 * 4096 * 4096 * 32
    lines = [
        f"Llama-2-7B on {spread(plan)}, micro batch 1, sequence 4096: `P` = 6,738,415,616 / 8 = {p:,.0f}.",
        "",
        "| part | by hand | GiB |",
        "|---|---|---|",
        f"| weights | 2 `P` | {2 * p / GIB:.2f} |",
        f"| gradients | 4 `P` | {4 * p / GIB:.2f} |",
        f"| optimizer | 12 `P` / 16 | {12 * p / 16 / GIB:.2f} |",
        f"| activations | 2 · 4096 · 4096 · 32 + {layer:,.0f} | {(kept + layer) / GIB:.2f} |",
        f"| logits | 8 · 4096 · 32000 / 8 | {8 * 4096 * 32000 / 8 / GIB:.2f} |",
        f"| together | | {memory.total / GIB:.2f} of {memory.usable / GIB:.1f} usable of {memory.whole / GIB:.0f} |",
    ]
    by_hand = 2 * p + 4 * p + 12 * p / 16 + kept + layer + 8 * 4096 * 32000 / 8
    assert memory.total == pytest.approx(by_hand)
    return "\n".join(lines)


def known_table() -> str:
    rows = ["| model | on | spread over | a process takes | fits |", "|---|---|---|---|---|"]
    for reported_of in KNOWN:
        plan, found = checked(reported_of)
        kind = reported_of.get("partition", partition()).instance_type.removeprefix("ml.")
        takes = f"{found.total / GIB:.1f} of {found.usable / GIB:.1f} GiB: {breakdown(found)}"
        model = reported_of["model"].split("/")[1]
        rows.append(f"| {model} | {kind} | {spread(plan)} | {takes} | {'yes' if found.fits else '**no**'} |")
    return "\n".join(rows)


def checked(reported_of: dict[str, Any]) -> tuple[RunPlan, Any]:
    """Plan and estimate, of a run that does not fit too."""
    from llm_fleet.rules.training.run_plan import estimate, planned

    shape = run(model=reported_of["model"], partition=partition("p5.48xlarge", 64)).shape
    unchecked = run(model=LLAMA_2_7B).model_copy(update={**values(**reported_of), "shape": shape})
    plan = planned(unchecked)
    assert plan is not None
    return plan, estimate(plan, shape)


PARTS = {
    "shown": shown,
    "backends": backend_table,
    "state": state_table,
    "example": example,
    "known": known_table,
    "error": error,
}


def test_generated_parts_are_what_the_code_says():
    check_made(PAGE, **{name: make() for name, make in PARTS.items()})


def test_the_python_of_the_page_runs():
    run = run_examples(PAGE.read_text())["run"]
    assert (run.plan.tensor_parallel, run.plan.data_parallel) == (8, 16)


def test_the_yaml_of_the_page_is_a_whole_job():
    from tests.fleet_file.good_job import DATA, problems

    (text,) = examples(PAGE.read_text(), "yaml")
    jobs = text.split("jobs:\n")[1]
    assert problems("  llama:\n    model: meta-llama/Llama-2-7b-hf\n    " + DATA + "\n", jobs + "\n") == ()


def test_what_is_published_to_run_fits_and_the_rest_is_as_said():
    fitting = [checked(reported_of)[1].fits for reported_of in KNOWN]
    assert fitting == [True, True, False, True, False, True, False, True]
