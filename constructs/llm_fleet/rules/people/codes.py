"""The stable codes of people on clusters. LF1200 to LF1229."""

from llm_fleet.rules.problem import AnyCode


class PeopleCode(AnyCode):
    """One mistake, one code. The string after the code says in short what it stands for."""

    TWO_IDS = "LF1200", "one person has two ids in the fleet"
    SHARED_ID = "LF1201", "two people of the fleet have one id"
    HOME_PATH = "LF1202", "a home cannot be there"
    HOME_LOCAL = "LF1203", "a home would be another one on every node"
    HOME_TWICE = "LF1204", "two people have one home"
    ACCOUNT_NAME = "LF1205", "Slurm takes no such account"
    ACCOUNT_PARENT = "LF1206", "the tree of Slurm accounts does not hold together"
    ACCOUNT_LIMIT = "LF1207", "Slurm takes no such limit"
    ACCOUNT_TRES = "LF1208", "Slurm counts no such resource"
    NO_ACCOUNTING = "LF1209", "limits without accounting"
    USER_WITHOUT_ACCOUNT = "LF1210", "somebody could submit no job"
    ACCOUNT_UNKNOWN = "LF1211", "a user's account is not in the tree"
    ENFORCE = "LF1212", "limits that nobody would enforce"
    DIRECTORY_URI = "LF1213", "a directory that is not asked over TLS"
    DIRECTORY_CERTIFICATE = "LF1214", "no certificate that the directory could be known by"
    DIRECTORY_VALUE = "LF1215", "the directory cannot be asked like this"
    DIRECTORY_IDS = "LF1216", "ids of the directory and of the fleet overlap"
    DIRECTORY_PACKAGES = "LF1217", "nodes would have no SSSD"
    DIRECTORY_TWICE = "LF1218", "the directory is told twice"
    RUN_AS = "LF1219", "a session cannot run as this user"
    SESSION = "LF1220", "Session Manager takes no such setting"
