"""The stable codes of `llm-fleet logs`, `events`, `upgrade` and `bundle`. LF1120 to LF1149."""

from llm_fleet.rules.any_code import AnyCode


class LogsCode(AnyCode):
    """One mistake, one code. The string after the code says in short what it stands for."""

    SINCE = "LF1120", "a time or span that cannot be read"
    NO_LOG = "LF1121", "a cluster or service of which there is no log"
    NODE_UNKNOWN = "LF1122", "a node of which there is neither a log nor a report"
    LOG_UNKNOWN = "LF1123", "a kind of log that this cluster or service does not have"
    CODE_FORM = "LF1124", "something that is no code of a node's failure"

    GROUP_UNKNOWN = "LF1130", "an instance group that the cluster does not have"
    IMAGE_FORM = "LF1131", "something that is neither an AMI's id nor a release of an image"
    UPGRADE_NEEDS_FILE = "LF1132", "an upgrade that only the fleet file can tell of"

    BUNDLE_EXISTS = "LF1140", "a support bundle is to be written where there is a file already"
    BUNDLE_UNWRITABLE = "LF1141", "a support bundle cannot be written"
