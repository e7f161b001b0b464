"""Runs code in a user's home as that user: root would follow a user's link to any file."""

from __future__ import annotations

import json
import os
import pwd
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import cast

from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.host import Host


def as_user(host: Host, name: str, work: Callable[[Host], None]) -> None:
    """Run `work` on `host` in a process with the user `name`, and record its changes.

    Raises the `Failure` of `work`. It also works where root has no access: on NFS with root squash. With another root
    folder, in tests, it runs as the current user.
    """
    if host.root != Path("/"):
        work(host)
        return
    user = pwd.getpwnam(name)
    in_process_of(host, (user.pw_uid, user.pw_gid), user.pw_dir, work)


def in_process_of(host: Host, ids: tuple[int, int], home: str, work: Callable[[Host], None]) -> None:
    """Run `work` in a process with the uid and gid `ids`, as `as_user` does."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "w", encoding="utf-8") as answer:
            answer.write(json.dumps(_done(host, ids, home, work)))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as answer:
        said = answer.read()
    os.waitpid(child, 0)
    code, cause, *changes = (
        cast("list[str]", json.loads(said)) if said else (Code.UNEXPECTED_ERROR.name, "it was killed")
    )
    host.changes.extend(changes)
    if code:
        raise Failure(Code[code], cause)


def _done(host: Host, ids: tuple[int, int], home: str, work: Callable[[Host], None]) -> list[str]:
    before = len(host.changes)
    code = cause = ""
    try:
        uid, gid = ids
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
        os.umask(0o077)
        os.environ.update(HOME=home)
        os.chdir("/")
        work(host)
    except Failure as failure:
        code, cause = failure.code.name, failure.cause
    except OSError as error:
        code, cause = Code.HOME_UNUSABLE.name, f"{error.filename or home}: {error.strerror} (as uid {ids[0]})"
    except BaseException:  # The parent raises it: the child must not continue as the step.
        code, cause = Code.UNEXPECTED_ERROR.name, traceback.format_exc()
    return [code, cause, *host.changes[before:]]
