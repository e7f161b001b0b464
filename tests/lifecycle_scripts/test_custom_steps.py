"""Custom steps: scripts of the bundle in any language, run as `apply` and `verify`."""

import json
from typing import Any

import pytest

from tests.lifecycle_scripts.runs import by_name
from tests.lifecycle_scripts.step_files import step
from tests.lifecycle_scripts.throwaway_node import Node

SHELL = b"""
set -euo pipefail
made="${LLM_FLEET_ROOT}/made.by.own"
case "$1" in
  apply) echo "applying on ${LLM_FLEET_ROLE}"; printf '%s' "${LLM_FLEET_GROUP} ${LLM_FLEET_HOOK}" >"${made}" ;;
  verify) [[ -s "${made}" ]] ;;
esac
"""
PYTHON = b"""
import json, os, sys
manifest = json.load(open(os.environ["LLM_FLEET_MANIFEST"]))
print(sys.argv[1], manifest["fleet"], os.getcwd() == os.environ["LLM_FLEET_BUNDLE"])
"""


def own(name: str, script: str, **more: Any) -> dict[str, Any]:
    plain = {"roles": ["Compute"], "needs": [], "timeout_seconds": 20, "retries": 0}
    return {"skip": [], "own": [{"name": name, "script": script} | plain | more]}


def test_a_bash_script_without_execute_bit_is_applied_and_verified(worker: Node) -> None:
    files = {"base": step("base")}
    worker.publish(
        step_files=files, scripts={"own/license.sh": SHELL}, steps=own("license", "own/license.sh", needs=["base"])
    )
    ended = worker.run()
    assert (ended.code, ended.err) == (0, "")
    assert (worker.root / "made.by.own").read_text() == "trn OnInitComplete"
    reported = by_name(ended)["license"]
    assert reported["output"] == ["applying on Compute"]
    assert reported["started"] >= by_name(ended)["base"]["ended"]
    assert worker.run().code == 0


@pytest.mark.parametrize(("name", "first"), [("own.py", b""), ("own", b"#!/usr/bin/env -S python3 -I\n")])
def test_other_scripts_are_run_by_their_suffix_or_first_line(worker: Node, name: str, first: bytes) -> None:
    worker.publish(scripts={name: first + PYTHON}, steps=own("other", name))
    ended = worker.run()
    assert (ended.code, ended.err) == (0, "")
    assert by_name(ended)["other"]["output"] == ["apply demo True", "verify demo True"]


def test_a_script_that_fails_is_a_failure(worker: Node) -> None:
    worker.publish(scripts={"own.sh": b"[[ $1 == apply ]] || exit 7"}, steps=own("odd", "own.sh"))
    ended = worker.run()
    assert (ended.code, ended.report["code"]) == (1, "LFN29")
    assert ended.report["cause"].endswith("own.sh verify` ended with 7")


def test_a_script_that_hangs_is_ended(worker: Node) -> None:
    script = b"while :; do read -t 1 <> <(:) || :; done"
    worker.publish(scripts={"own.sh": script}, steps=own("hangs", "own.sh", timeout_seconds=1))
    assert worker.run().report["code"] == "LFN32"


def test_a_script_of_another_role_is_not_run(worker: Node) -> None:
    worker.publish(scripts={"own.sh": b"exit 1"}, steps=own("odd", "own.sh", roles=["Login"]))
    ended = worker.run()
    assert ended.code == 0
    assert ended.report["skipped"]["odd"] == "not for the role Compute"


@pytest.mark.parametrize(
    ("steps", "scripts", "code", "cause"),
    [
        (own("nothing", "own.sh"), {"own.sh": b""}, "LFN26", "nothing has the name of a built-in step"),
        (own("odd", "own.sh"), {}, "LFN27", "own.sh of the custom step odd cannot be read: No such file"),
        (
            own("odd", "../own.sh"),
            {},
            "LFN27",
            "the script ../own.sh of the custom step odd is not in the bundle",
        ),
        (
            own("odd", "/bin/true"),
            {},
            "LFN27",
            "the script /bin/true of the custom step odd is not in the bundle",
        ),
        (own("odd", "own"), {"own": b"echo hello\n"}, "LFN27", "has no #! line and does not end in .sh or .py"),
        (own("odd", "own"), {"own": b""}, "LFN27", "has no #! line"),
        (own("odd", "own"), {"own": b"#!\n"}, "LFN27", "has no #! line"),
        (own("odd", "own.sh"), {"own.sh": b"echo hello\r\n"}, "LFN28", "has Windows line endings"),
        (own("odd", "own"), {"own": b"#!/no/such\n"}, "LFN29", "apply` cannot be run: No such file"),
        (own("odd", "own.sh", needs=["even"]), {"own.sh": b""}, "LFN24", "odd needs even, which is not a step"),
        (own("odd", "own.sh", needs=["odd"]), {"own.sh": b""}, "LFN25", "odd -> odd"),
    ],
)
def test_invalid_custom_steps(
    worker: Node, steps: dict[str, Any], scripts: dict[str, bytes], code: str, cause: str
) -> None:
    worker.publish(scripts=scripts, steps=steps)
    ended = worker.run()
    assert (ended.code, ended.report["code"]) == (1, code), ended.err
    assert cause in ended.report["cause"]
    if code != "LFN29":
        assert "steps" not in ended.report


def test_two_custom_steps_of_one_name_are_rejected(worker: Node) -> None:
    twice = own("odd", "own.sh")
    worker.publish(scripts={"own.sh": b""}, steps={"skip": [], "own": twice["own"] * 2})
    assert worker.run().report["code"] == "LFN26"


def test_skipping_an_unknown_step_is_rejected(worker: Node) -> None:
    worker.publish(steps={"skip": ["nonesuch"], "own": []})
    ended = worker.run()
    assert (ended.code, ended.report["code"]) == (1, "LFN23")
    assert "nonesuch" in json.dumps(ended.report)


@pytest.mark.parametrize("text", ["STEP = ", "", "STEP = 7", "import nonesuch", step("whole")])
def test_a_file_without_a_step_is_reported(worker: Node, text: str) -> None:
    worker.publish(step_files={"broken": text})
    ended = worker.run()
    assert (ended.code, ended.report["code"]) == (1, "LFN37"), ended.err
    assert "broken" in ended.report["cause"]


def test_an_error_in_the_skip_check_of_a_step_is_reported(worker: Node) -> None:
    worker.publish(step_files={"odd": step("odd", more="'skip': lambda node: node.nonesuch")})
    ended = worker.run()
    assert (ended.code, ended.report["code"]) == (1, "LFN37")
    assert "odd: the check whether it is needed failed" in ended.report["cause"]
