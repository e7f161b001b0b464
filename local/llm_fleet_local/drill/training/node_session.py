"""The session with which `llm-fleet jobs submit` reaches a node of the drill, in place of Session Manager."""

from __future__ import annotations

from llm_fleet.cli.session import Done, Session, Target
from llm_fleet_local.drill.nodes.node import Node


class NodeSession(Session):
    """A session with `node` as `user`."""

    def __init__(self, node: Node, *, user: str, target: Target) -> None:
        """Set the node and the user, who must exist; `target` names the node in messages."""
        self._node = node
        self._user = user
        self.target = target

    def run(self, script: str) -> Done:
        """Run the bash `script` to its end, with the same command line as a session."""
        as_user = ("sudo", "--non-interactive", "--set-home", f"--user={self._user}", "bash")
        done = self._node.run(*as_user, input=script, check=False)
        return Done(done.returncode, tuple((done.stdout + done.stderr).splitlines()))
