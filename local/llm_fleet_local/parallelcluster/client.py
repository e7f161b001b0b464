"""Calls ParallelCluster's schema, validators and update policies, in a process with another Python environment."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from types import TracebackType
from typing import Any, Self

from llm_fleet_local.cache import cache_folder
from llm_fleet_local.parallelcluster.account_context import AccountContext
from llm_fleet_local.parallelcluster.answers import Change, Finding, SchemaMessage
from llm_fleet_local.parallelcluster.dummies import without_tokens

_PACKAGES = Path(__file__).parents[2]
_LOCKED = Path(__file__).parent
"""Folder of the pyproject.toml and uv.lock of ParallelCluster's environment."""
_AS_IT_SHOULD = AccountContext()


def provide_environment() -> Path:
    """Return the environment with ParallelCluster's package, and install it from its lock file if there is none.

    `make setup` installs it in a checkout. Without a checkout it is in the user's cache, where uv installs it at the
    first use. Raises `OracleUnavailable`.
    """
    checkout = _PACKAGES.parent / ".tools" / "parallelcluster"
    if checkout.is_dir():
        return checkout
    digest = hashlib.sha256((_LOCKED / "uv.lock").read_bytes()).hexdigest()[:12]
    cached = cache_folder() / f"parallelcluster-{digest}"
    ready = cached / ".ready"
    if not ready.exists():
        try:
            from uv import find_uv_bin

            command = [find_uv_bin(), "sync", "--quiet", "--locked", "--project", str(_LOCKED)]
            where = {**os.environ, "UV_PROJECT_ENVIRONMENT": str(cached), "UV_PYTHON": sys.executable}
            subprocess.run(command, env=where, check=True, capture_output=True, text=True)  # noqa: S603 - uv
            ready.touch()
        except (OSError, ImportError, subprocess.CalledProcessError) as error:
            why = getattr(error, "stderr", None) or error
            raise OracleUnavailable(f"ParallelCluster's package cannot be installed in {cached}: {why}") from error
    return cached


class OracleUnavailable(RuntimeError):
    """The environment of ParallelCluster's package is missing, or its process has ended."""


class OracleFailed(RuntimeError):
    """ParallelCluster's code raised an unexpected exception."""

    def __init__(self, call: str, trace: str) -> None:
        super().__init__(f"ParallelCluster's code failed in `{call}`:\n{trace}")
        self.error = trace.strip().rsplit("\n", 1)[-1]
        """The exception, e.g. `AttributeError: …`."""


class Oracle:
    """One process that answers one request at a time, while this object is open.

    Configurations are dictionaries as in ParallelCluster's YAML. Values that are resolved at deployment
    (intrinsic functions, CDK tokens) are replaced by valid dummies, see `dummies`. The process has no network access.
    """

    def __init__(self, environment: Path | None = None) -> None:
        """Prepare. Default of `environment`: that of the checkout, or one that is installed for the user once."""
        self._environment = environment
        self._process: subprocess.Popen[str] | None = None
        self._errors = TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - lives as long as the process
        self._lock = Lock()

    def version(self) -> str:
        """Return the version of aws-parallelcluster in the process."""
        return self._request("about")["version"]

    def schema(self, configuration: Mapping[str, Any], cluster_name: str = "cluster") -> list[SchemaMessage]:
        """Return the schema's errors in a configuration: unknown keys, types, enumerations, patterns."""
        answer = self._request("schema", configuration=without_tokens(configuration), cluster_name=cluster_name)
        return [SchemaMessage(**one) for one in answer]

    def validate(
        self, configuration: Mapping[str, Any], cluster_name: str = "cluster", *, around: AccountContext = _AS_IT_SHOULD
    ) -> list[Finding]:
        """Return messages of schema and validators for a configuration, as `pcluster create-cluster --dryrun` would.

        AWS is emulated, with all resources that the configuration names, except as set in `around`.
        """
        plain = without_tokens(configuration)
        answer = self._request(
            "validate", configuration=plain, cluster_name=cluster_name, account_context=around.as_json()
        )
        return [Finding(**one) for one in answer]

    def execute(self, validator: str, **arguments: Any) -> list[Finding]:
        """Return the messages of one validator, by its class name and the arguments of its `_validate`."""
        return [Finding(**one) for one in self._request("execute", validator=validator, validator_arguments=arguments)]

    def update(
        self,
        old: Mapping[str, Any],
        new: Mapping[str, Any],
        *,
        fleet_stopped: bool = False,
        login_nodes_stopped: bool | Collection[str] = False,
    ) -> list[Change]:
        """Return each change between two configurations with ParallelCluster's result, as an update checks it.

        `fleet_stopped` is about compute nodes; login nodes, of all pools or of those named, are stopped by a `Count`
        of 0 beforehand. Raises `OracleFailed` if ParallelCluster itself raises an exception.
        """
        login = login_nodes_stopped if isinstance(login_nodes_stopped, bool) else list(login_nodes_stopped)
        answer = self._request(
            "update",
            old=without_tokens(old),
            new=without_tokens(new),
            fleet_stopped=fleet_stopped,
            login_nodes_stopped=login,
        )
        return [Change(**one) for one in answer]

    def close(self) -> None:
        """End the process; the next request starts a new one."""
        process, self._process = self._process, None
        if process and process.stdin and process.stdout:
            # It has no state to save, so it is killed.
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _request(self, call: str, **arguments: Any) -> Any:
        with self._lock:
            process = self._running()
            assert process.stdin
            assert process.stdout
            try:
                process.stdin.write(json.dumps({"call": call, "arguments": arguments}) + "\n")
                process.stdin.flush()
                line = process.stdout.readline()
            except BrokenPipeError:
                line = ""
        if not line:
            raise OracleUnavailable(f"ParallelCluster's process has ended: {self._last_words()}")
        reply = json.loads(line)
        if "failed" in reply:
            raise OracleFailed(call, reply["failed"])
        return reply["answer"]

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            python = (self._environment or provide_environment()) / "bin" / "python"
            if not python.exists():
                raise OracleUnavailable(f"ParallelCluster's package is not installed: {python} is missing")
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [str(python), "-m", "llm_fleet_local.parallelcluster.inside.serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
                cwd=_PACKAGES,
                env={"PATH": os.defpath, "PYTHONPATH": str(_PACKAGES), "PYTHONUNBUFFERED": "1"},
            )
        return self._process

    def _last_words(self) -> str:
        self._errors.seek(0)
        return self._errors.read()[-2000:].strip() or "no output"
