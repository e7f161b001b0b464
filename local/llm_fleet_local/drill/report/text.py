"""The summary of the report for the terminal."""

from __future__ import annotations

from llm_fleet_local.drill.report.model import Run, slowest_path
from llm_fleet_local.drill.report.page import acts
from llm_fleet_local.drill.report.training import lines as training_lines
from llm_fleet_local.drill.report.training import of_environment


def summary(run: Run) -> list[str]:
    """Return the lines."""
    lines = [f"{run.title}: {run.verdict}"]
    lines += [f"  {value:6.1f} s  {what}" for what, value in run.timings.items()]
    if run.environment:
        lines.append("  {:>8}  {}".format(*of_environment(run.environment)))
    if run.training:
        lines += [f"  {line}" for line in training_lines(run.training)]
    for title, scripts in acts(run):
        lines.append(f"  scripts on {title}; slowest path: {slowest_path(scripts) or 'unknown'}")
    for script in run.scripts:
        lines += [
            f"  {script.node}: {step.code} in {step.name}: {step.cause}\n    what to do: {step.remedy}"
            for step in script.steps
            if step.code
        ]
        if script.exit_code and not any(step.code for step in script.steps):
            lines.append(f"  {script.node}: {script.code} {script.cause or 'no report'}")
    if run.stand_ins:
        used = ", ".join(f"{use.name} ({use.calls})" for use in run.stand_ins)
        lines.append(f"  replaced by a stand-in (calls): {used}")
    lines += [f"  {line}" for line in run.proof]
    return lines
