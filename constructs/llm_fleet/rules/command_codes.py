"""The stable codes of the commands: of each verb, and of AWS when it refuses to be asked."""

from llm_fleet.rules.problem import AnyCode


class CommandCode(AnyCode):
    """One mistake, one code. The string after the code says in short what it stands for."""

    NO_BOTO3 = "LF1000", "AWS is to be asked, and boto3 is not installed"
    NO_CREDENTIALS = "LF1001", "AWS is to be asked, and there are no credentials"
    EXPIRED = "LF1002", "credentials that have expired"
    INVALID_CREDENTIALS = "LF1003", "credentials that AWS does not know, or not in this region"
    DENIED = "LF1004", "a call that these credentials may not make"
    THROTTLED = "LF1005", "a call that AWS turned away for coming too often, again and again"
    UNREACHABLE = "LF1006", "an endpoint of AWS that does not answer"
    REGION = "LF1007", "a region that is not named, does not exist or is not enabled"
    GONE = "LF1008", "something in AWS that is not there, or no longer"
    REFUSED = "LF1009", "a call that AWS refuses for another reason"

    PLACE_UNKNOWN = "LF1010", "a cluster or service that the fleet file does not have"
    PLACE_NEEDED = "LF1011", "one of several clusters or services is meant, and nobody said which"
    PLACE_KIND = "LF1012", "a command for another kind of cluster or service"
    FILE_OR_NAME = "LF1013", "neither a fleet file nor the name of something in AWS"

    @property
    def is_of_aws(self) -> bool:
        """Whether AWS could not be asked, so that nobody knows whether something is wrong."""
        return self.value <= CommandCode.REFUSED.value and self is not CommandCode.GONE


class CheckCode(AnyCode):
    """One mistake, one code. The string after the code says in short what it stands for."""

    QUOTA = "LF1020", "a quota of the account that is smaller than what the fleet takes"
    QUOTA_UNKNOWN = "LF1021", "a quota that AWS does not have in this region"

    NOT_OFFERED = "LF1022", "an instance type that is not offered in the AZ"
    ZONE_OF_ACCOUNT = "LF1023", "an AZ that the account does not have"

    PLAN_STATUS = "LF1024", "a training plan that gives no capacity now"
    PLAN_TIME = "LF1025", "a training plan that has ended, or ends soon"
    PLAN_ZONE = "LF1026", "a training plan in another AZ than the group"
    PLAN_COUNT = "LF1027", "a training plan with fewer free instances than the group takes"
    PLAN_TYPE = "LF1028", "a training plan for other instances or another use"

    RESERVATION_STATE = "LF1029", "a capacity reservation that gives no capacity now"
    RESERVATION_TIME = "LF1030", "a capacity reservation that has ended, or ends soon"
    RESERVATION_ZONE = "LF1031", "a capacity reservation in another AZ than the nodes"
    RESERVATION_COUNT = "LF1032", "a capacity reservation with fewer free instances than the nodes take"
    RESERVATION_TYPE = "LF1033", "a capacity reservation of other instances"

    FREE_ADDRESSES = "LF1034", "an existing subnet with fewer free addresses than the fleet takes"
    SUBNET_ELSEWHERE = "LF1035", "an existing subnet in another VPC or AZ than the fleet file says"
    EFA_RULES = "LF1036", "a security group that does not let EFA traffic in from, and out to, itself"
    FILE_SYSTEM_PORTS = "LF1037", "security groups that keep nodes and file system apart"
    ENDPOINT_MISSING = "LF1038", "a closed existing network without an endpoint that nodes need"
    ENDPOINT_UNUSABLE = "LF1039", "an endpoint that nodes cannot use"
    DEAD_ROUTE = "LF1040", "an existing subnet whose way out leads nowhere"
    SECURITY_GROUP_ELSEWHERE = "LF1041", "a security group of another VPC"

    RULE_EXISTS = "LF1056", "a security group rule that exists already and that the deployment makes"

    NETWORK_MISSING = "LF1045", "a VPC, subnet or security group that is not in this account and region"

    BUCKET_MISSING = "LF1042", "a bucket that does not exist"
    BUCKET_REGION = "LF1043", "a bucket in another region"
    BUCKET_TAKEN = "LF1044", "a new bucket whose name somebody has already"
    FILE_SYSTEM_STATE = "LF1046", "an existing file system that cannot be mounted now"
    FILE_SYSTEM_ZONE = "LF1047", "an existing file system in another AZ or VPC"
    FILE_SYSTEM_OTHER = "LF1048", "an existing file system that is not what the fleet file says"

    IMAGE_STATE = "LF1049", "a custom image that is not there, not ready, or not fit for the nodes"
    IMAGE_AGE = "LF1050", "an image that is older than a feature that the fleet asks for"
    IMAGE_PARAMETER = "LF1051", "a release of an image that AWS does not publish in this region"

    MODEL_MISSING = "LF1052", "a model that is not in its bucket"
    TOKEN_SECRET = "LF1053", "a secret with the Hub's token that does not exist"
    GATED = "LF1054", "a model of the Hub that this token may not download"
    CERTIFICATE = "LF1055", "a certificate that cannot be used"

    ENDPOINT_NOT_OFFERED = "LF1058", "an interface endpoint whose service AWS does not offer in the AZ"


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


class PlanCode(AnyCode):
    """One mistake, one code. The string after the code says in short what it stands for."""

    ASSEMBLY = "LF1080", "a folder of which the plan is to be made, and which is no cloud assembly"
    SYNTH = "LF1081", "a fleet that is good by its file, and whose synthesis fails"
    NO_CDK = "LF1082", "a synthesis where the CDK or its Node is not installed"
    PRICE_FILE = "LF1083", "a file of prices that is none"
    PRICE_LIST = "LF1084", "an answer of AWS's Price List that says nothing of what was asked"
    NO_SYNTH = "LF1085", "something asked for that needs the synthesis that was declined"
    DATA = "LF1086", "a deployment that leaves data behind, or deletes it"
    JOBS = "LF1087", "a deployment that ends running jobs"
    REFUSED = "LF1088", "a deployment that CloudFormation or a service would refuse"
    ADDRESS = "LF1089", "a deployment after which a service has another address"
    LEFT_STACK = "LF1090", "a stack that is deployed and that the fleet file no longer has"

    # Of the picture, from the end of the range.
    NO_GRAPHVIZ = "LF1098", "a picture where Graphviz is not installed"
    NO_ASSEMBLY = ("LF1099", "a folder that is no synthesized cloud assembly")
