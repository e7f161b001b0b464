"""The stable codes of `llm-fleet nodes` and `connect`. LF1100 to LF1119."""

from llm_fleet.rules.any_code import AnyCode


class NodesCode(AnyCode):
    """One mistake, one code. The string after the code says in short what it stands for."""

    NO_NODES = "LF1100", "a cluster or service of which no node is there, or in the region"
    NODE_UNKNOWN = "LF1101", "a node that the cluster does not have, or no longer"
    NODE_AMBIGUOUS = "LF1102", "a name that several nodes answer to"
    NODE_NOT_RUNNING = "LF1103", "a session with a node that does not run"
    GROUP_UNKNOWN = "LF1104", "an instance group or queue without any node"
    STATUS_UNKNOWN = "LF1105", "a status that no node has"
    PROGRAM_MISSING = "LF1106", "a session, and this machine lacks a program of AWS for it"
    THROTTLED = "LF1107", "sessions that AWS turned away for coming too often, again and again"
    NOT_REACHED = "LF1108", "a node or task that Session Manager does not reach"
    CUT_OFF = "LF1109", "a command whose session ended before it did"
    PORTS = "LF1110", "ports to forward that are none"
    SLURM_SILENT = "LF1111", "Slurm's view of the nodes, which could not be had"
    SLURM_UNREADABLE = "LF1112", "Slurm's view of the nodes, which is in no form that we know"
    SSH_FILE = "LF1113", "a file for ssh that cannot be written"
    SSH_NONE = "LF1114", "ssh to what has no ssh"
