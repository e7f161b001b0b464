"""What `llm-fleet jobs submit` reaches a cluster by, in place of Session Manager: the drill's own way onto a node."""

from __future__ import annotations

from llm_fleet.cli.session import Done, Session, Target
from local.drill.nodes.node import Node


class NodeSession(Session):
    """A session with `node` as `user`."""

    def __init__(self, node: Node, *, user: str, target: Target) -> None:
        """Take the node and the user, who must be there; `target` names the node in messages."""
        self._node = node
        self._user = user
        self.target = target

    def run(self, script: str) -> Done:
        """Run the bash `script` to its end, by the words that a session runs it with."""
        as_user = ("sudo", "--non-interactive", "--set-home", f"--user={self._user}", "bash")
        done = self._node.run(*as_user, input=script, check=False)
        return Done(done.returncode, tuple((done.stdout + done.stderr).splitlines()))
