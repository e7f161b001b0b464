"""Runs the AWS CLI, which copies to and from S3."""

from __future__ import annotations

import subprocess


class AwsFailed(Exception):
    """A call that did not succeed; `code` is its exit code, `said` its standard error."""

    def __init__(self, words: str, code: int, said: str) -> None:
        """`words` are the arguments of the call."""
        super().__init__(f"{words}: {said.splitlines()[-1] if said else f'exit code {code}'}")
        self.code = code
        self.said = said


def aws(*words: str) -> str:
    """Run `aws words…`; returns what it printed."""
    call = " ".join(("aws", *words[:2]))
    try:
        done = subprocess.run(["aws", *words], capture_output=True, text=True, check=False)
    except OSError as error:
        raise AwsFailed(call, 127, f"aws cannot be started: {error.strerror}") from error
    if done.returncode:
        raise AwsFailed(call, done.returncode, done.stderr.strip())
    return done.stdout
