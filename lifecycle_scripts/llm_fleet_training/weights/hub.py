"""A model, or a data set, of the Hugging Face Hub."""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path
from typing import Any, Dict, List, Optional

from llm_fleet_training.failures import Code, fail
from llm_fleet_training.weights.entries import Entry
from llm_fleet_training.weights.hub_failures import HubFailures
from llm_fleet_training.weights.hub_token import hub_token
from llm_fleet_training.weights.space import writing

_TIMEOUT_SECONDS = 60
_OWN_CACHE = ".cache"
"""The folder in which huggingface_hub records the files that it has downloaded already."""
_OF_NO_ONE = re.compile(r".+\.[0-9a-f]{8}\.incomplete$")
"""Incomplete files of an ended process; huggingface_hub 2 downloads these again and never reads them."""


class HubModel:
    """Downloads with `huggingface_hub`, at one commit. `HF_ENDPOINT` names another Hub or a mirror."""

    def __init__(self, model: str, revision: Optional[str], *, token_file: Optional[Path], kind: str = "model") -> None:
        """`revision`: a commit, tag or branch. Default: the newest commit of the main branch. Reads the token.

        `kind`: `model`, or `dataset` for a data set.
        """
        self._kind = kind
        self._hub: Any = _library()
        self._model = model
        self._requested = revision
        self._token = hub_token(token_file)
        self._endpoint = (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
        self.place = f"{model} of {self._endpoint}"
        token = self._token or self._login()
        self._failures = HubFailures(model, revision, token=token, endpoint=self._endpoint, kind=kind)
        self._commit = ""

    def entries(self) -> List[Entry]:
        """The files of the commit. Requests one of them, too: a gated model lists its files to every user."""
        try:
            api = self._hub.HfApi(endpoint=self._endpoint)
            info = api.repo_info(
                self._model,
                revision=self._requested,
                repo_type=self._kind,
                files_metadata=True,
                timeout=_TIMEOUT_SECONDS,
                token=self._token,
            )
            self._commit = info.sha
            files = [_entry(each) for each in info.siblings or ()]
            if files:
                # Before any download; a user who can read one file can read all.
                url = self._hub.hf_hub_url(
                    self._model,
                    files[0].path,
                    repo_type=self._kind,
                    revision=self._commit,
                    endpoint=self._endpoint,
                )
                self._hub.get_hf_file_metadata(url, token=self._token, timeout=_TIMEOUT_SECONDS)
        except Exception as error:
            self._failures.raise_for(error)
        return files

    def fetch(self, chosen: List[Entry], folder: Path) -> None:
        """Download files at the listed commit; keep complete files of an earlier run, download incomplete ones again.

        When the Hub cannot be reached, huggingface_hub returns the files in the folder: compare the result with
        `entries`.
        """
        for half in folder.glob(f"{_OWN_CACHE}/**/*.incomplete"):
            if _OF_NO_ONE.match(half.name):
                half.unlink(missing_ok=True)
        with writing(folder):
            try:
                self._hub.snapshot_download(
                    self._model,
                    revision=self._commit,
                    repo_type=self._kind,
                    local_dir=str(folder),
                    allow_patterns=[entry.path for entry in chosen],
                    token=self._token,
                    endpoint=self._endpoint,
                )
            except Exception as error:
                if isinstance(error, OSError) and error.errno:
                    raise
                self._failures.raise_for(error, begun=True)

    def identity(self) -> Dict[str, Any]:
        """Its id and commit, and the requested revision."""
        return {"source": self._model, "revision": self._commit, "asked": self._requested}  # codespell:ignore asked

    def _login(self) -> Optional[str]:
        return self._hub.get_token()


def _entry(sibling: Any) -> Entry:
    lfs: Any = sibling.lfs
    # Each release has another type of dict.
    sha256: Optional[str] = lfs["sha256"] if lfs else None
    return Entry(path=sibling.rfilename, size=sibling.size or 0, sha256=sha256, git_sha1=sibling.blob_id)


def _library() -> Any:
    try:
        found: Any = importlib.import_module("huggingface_hub")
    except ImportError as error:
        fail(Code.PYTHON_PACKAGE, f"huggingface_hub cannot be imported: {error}")
    importlib.import_module("huggingface_hub.utils").disable_progress_bars()  # Thousands of lines in a log.
    return found
