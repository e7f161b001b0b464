"""Writes the tables of docs/training/jobs.md from the batch files."""

from collections.abc import Mapping

from llm_fleet.catalog.training_environments import JobSetting, JobStage, job_stages, shared_settings
from tools.synth_environment import ROOT

PLACE = ROOT / "docs" / "training" / "jobs.md"


def tables() -> Mapping[str, str]:
    """Return the generated parts by name: the text between `<!-- NAME: …` and `<!-- end of NAME -->`."""
    return {"stages": _stages(), "settings": _settings()}


def page(text: str) -> str:
    """Return the page `text` with its generated parts updated."""
    for name, table in tables().items():
        before, mark, rest = text.partition(f"<!-- {name}: made by tools/jobs_page.py -->\n")
        _, end, after = rest.partition(f"<!-- end of {name} -->")
        if not mark or not end:
            raise ValueError(f"docs/training/jobs.md has no '<!-- {name}' part")
        text = f"{before}{mark}\n{table}\n{end}{after}"
    return text


def _stages() -> str:
    head = "| stage | what it does | default nodes |\n|---|---|---|\n"
    return head + "".join(f"| `{name}` | {one.summary} | {one.nodes} |\n" for name, one in job_stages().items())


def _settings() -> str:
    files: dict[str, JobStage] = {"run.sh": shared_settings()}
    files |= {one.file: one for one in job_stages().values()}
    head = "| file | setting | default | description |\n|---|---|---|---|\n"
    rows = (_row(file, name, one) for file, stage in files.items() for name, one in stage.settings.items())
    return head + "".join(rows)


def _row(file: str, name: str, setting: JobSetting) -> str:
    shipped = f"`{setting.text}`" if setting.text else ""
    return f"| `{file}` | `{name}` | {shipped} | {setting.comment.replace('|', chr(92) + '|')} |\n"
