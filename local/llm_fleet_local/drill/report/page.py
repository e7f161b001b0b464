"""The report as one self-contained HTML page, without scripts or other files."""

from __future__ import annotations

from html import escape
from itertools import groupby
from pathlib import Path

from llm_fleet_local.drill.report.model import Run, ScriptRun, slowest_path
from llm_fleet_local.drill.report.timeline import timeline
from llm_fleet_local.drill.report.training import of_environment, section

_STYLE = Path(__file__).parent / "page.css"
_LEGEND = (
    ("done", "made a change and verified it"),
    ("same", "was already correct"),
    ("wait", "waited for the work of another node"),
    ("bad", "failed"),
    ("line", "the script before and after its steps"),
)


def page(run: Run) -> str:
    """Return the HTML of `run`."""
    body = [
        f"<h1>{escape(run.title)}</h1>",
        f'<p class="lead"><span class="verdict{"" if run.verdict == "healthy" else " wrong"}">{escape(run.verdict)}'
        f"</span> · {escape(run.machine)}</p>",
        _numbers(run),
        section(run.training) if run.training else "",
        _failures(run),
        *(_act(title, runs) for title, runs in acts(run)),
        _story(run),
        _stand_ins(run),
        _bundle(run),
    ]
    style = _STYLE.read_text(encoding="utf-8")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(run.title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{style}</style></head>\n'
        f"<body>{''.join(body)}</body></html>\n"
    )


def acts(run: Run) -> list[tuple[str, list[ScriptRun]]]:
    """Return the starts in groups that overlap in time, each group with its title."""
    numbered: list[tuple[int, ScriptRun]] = []
    end, number = 0.0, 0
    for script in sorted(run.scripts, key=lambda script: script.started):
        number += script.started > end
        end = max(end, script.ended)
        numbered.append((number, script))
    made: list[tuple[str, list[ScriptRun]]] = []
    for _, group in groupby(numbered, key=lambda item: item[0]):
        runs = [script for _, script in group]
        who = runs[0].node if len(runs) == 1 else f"{len(runs)} nodes"
        made.append((f"{who}, {max(r.ended for r in runs) - min(r.started for r in runs):.1f} s", runs))
    return made


def _numbers(run: Run) -> str:
    numbers = [(f"{value:.1f} s", what) for what, value in run.timings.items()]
    if run.environment:
        numbers.append(of_environment(run.environment))
    shown = "".join(f"<div><b>{value}</b><span>{escape(what)}</span></div>" for value, what in numbers)
    return f'<div class="numbers">{shown}</div>' if shown else ""


def _act(title: str, runs: list[ScriptRun]) -> str:
    path = slowest_path(runs)
    words = f"Slowest path: {path}." if path else ""
    legend = "".join(f'<i style="background: var(--{color})"></i>{text}' for color, text in _LEGEND)
    return (
        f"<h2>Scripts on {escape(title)}</h2>{timeline(runs)}"
        f'<p class="legend">{legend}<br>{escape(words)} Move the pointer over a bar for details.</p>'
    )


def _failures(run: Run) -> str:
    failures = [
        f'<div class="failure"><b>{escape(script.node)}</b> <code>{escape(step.code)}</code> in {escape(step.name)}: '
        f"{escape(step.cause or '')}<br>What to do: {escape(step.remedy or '')}</div>"
        for script in run.scripts
        for step in script.steps
        if step.code
    ]
    failures += [
        f'<div class="failure"><b>{escape(script.node)}</b> <code>{escape(script.code)}</code> '
        f"{escape(script.cause or f'ended with {script.exit_code} and left no report')}<br>"
        f"What to do: {escape(script.remedy or 'read its log')}</div>"
        for script in run.scripts
        if script.exit_code and not any(step.code for step in script.steps)
    ]
    return f"<h2>Failures</h2>{''.join(failures)}" if failures else ""


def _story(run: Run) -> str:
    rows = "".join(
        f'<tr><td class="number">{event.at - run.started:.1f} s</td><td>{escape(event.node)}</td>'
        f"<td>{escape(event.text)}</td></tr>"
        for event in run.events
    )
    return f"<h2>What happened</h2><table><tr><th>after</th><th>node</th><th></th></tr>{rows}</table>"


def _stand_ins(run: Run) -> str:
    rows = "".join(
        f'<tr><td><code>{escape(use.name)}</code></td><td class="number">{use.calls}</td><td>{escape(use.plays)}</td>'
        f"<td>{escape(use.refuses)}</td><td>{escape(use.cannot)}</td></tr>"
        for use in run.stand_ins
    )
    settings = ", ".join(f"{name}={value}" for name, value in run.profile.items())
    return (
        "<h2>Stand-ins</h2><p>systemd, munge, Slurm, slurmdbd and MariaDB were real. Replaced by a "
        f"stand-in:</p><table><tr><th></th><th>calls</th><th>plays</th><th>refuses</th><th>cannot</th></tr>{rows}"
        f"</table><p>Slurm settings that differ from production, to avoid waiting: "
        f"<code>{escape(settings)}</code>. VPC DNS was replaced by <code>/etc/hosts</code>.</p>"
    )


def _bundle(run: Run) -> str:
    lines = "".join(f"<li><code>{escape(line)}</code></li>" for line in run.proof)
    return f"<h2>The bundle that was run</h2><ul>{lines}</ul>"
