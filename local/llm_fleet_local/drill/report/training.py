"""The section of the report about training, for the page and for the terminal."""

from __future__ import annotations

from html import escape

from llm_fleet_local.drill.report.curves import curves
from llm_fleet_local.drill.report.model import Environment
from llm_fleet_local.drill.training.outcome import Trained, Training


def section(training: Training) -> str:
    """Return the HTML of the section."""
    rows = "".join(
        f'<tr><td>{escape(run.name)}</td><td class="number">{len(run.rows)}</td><td class="number">{run.restarts}</td>'
        f'<td class="number">{run.rows[-1].loss:.6f}</td><td class="number">{run.checkpoint_share:.1%}</td>'
        f"<td><code>{escape(run.parameters_sha256)}</code></td></tr>"
        for run in (training.undisturbed, training.disturbed)
    )
    good = training.is_same and training.is_same_curve
    numbers = "".join(f"<div><b>{value}</b><span>{escape(what)}</span></div>" for value, what in _numbers(training))
    return (
        f'<h2>Training, and the loss of a node</h2><div class="numbers">{numbers}</div>{curves(training)}'
        '<p class="legend"><i style="background: var(--whole)"></i>undisturbed run (wide line)'
        '<i style="background: var(--path)"></i>second run until the node was lost'
        '<i style="background: var(--resumed)"></i>second run after its restart; rings: repeated steps</p>'
        "<table><tr><th></th><th>steps</th>"
        "<th>restarts</th><th>last loss</th><th>checkpoints</th><th>SHA-256 of all parameters at the end</th></tr>"
        f'{rows}</table><p class="verdict{"" if good else " wrong"}">{escape(_verdict(training))}</p>'
    )


def of_environment(environment: Environment) -> tuple[str, str]:
    """Return the seconds of the build, and their description."""
    return (
        f"{environment.seconds:.1f} s",
        f"to build the training environment, once, on {environment.builder}; {environment.waited} other nodes found it "
        f"complete, and each verified it in at most {environment.verify_seconds:.2f} s",
    )


def lines(training: Training) -> list[str]:
    """Return the content of `section` as lines of text."""
    numbers = [f"{value:>8}  {what}" for value, what in _numbers(training)]
    numbers += [_line(run) for run in (training.undisturbed, training.disturbed)]
    return [*numbers, _verdict(training)]


def _numbers(training: Training) -> list[tuple[str, str]]:
    return [
        (f"{training.seconds_to_first_step:.1f} s", "from the loss of a node to the first step after it"),
        (str(training.steps_lost), "steps were lost with it and repeated"),
        (f"{training.undisturbed.checkpoint_share:.1%}", "of the training time was spent on checkpoints"),
    ]


def _line(run: Trained) -> str:
    first, last = run.rows[0], run.rows[-1]
    again = f", {run.restarts} restart" if run.restarts else ""
    return (
        f"{run.name}: loss {first.loss:.4f} to {last.loss:.4f} in {last.step} steps{again}; "
        f"parameters {run.parameters_sha256}"
    )


def _verdict(training: Training) -> str:
    if training.is_same and training.is_same_curve:
        return "Both runs ended with identical parameters, and each step had the same loss."
    if training.is_same:
        return "Both runs ended with identical parameters, but some steps had different losses: this is an error."
    return "The runs ended with different parameters: the result depends on the loss of a node. This is an error."
