"""Codes of the features that have many, and of the commands.

LF900 to LF994 the SageMaker pieces around clusters: to LF909 what they share · LF910 to LF919 notebooks ·
LF920 to LF929 Studio · LF930 to LF959 endpoints · LF960 to LF979 training jobs · from LF980 on the watch.
LF1150 to LF1179 metrics of nodes · LF1180 to LF1199 alarms, who is told, and budgets · LF1200 to LF1229 people
"""

from llm_fleet.rules.problem import AnyCode


class SageMakerCode(AnyCode):
    """One mistake, one code. The string after the code says in short what it stands for."""

    NAME = "LF900", "a name that the service does not take"
    INSTANCE_RETIRED = "LF901", "an instance type that the service no longer offers to new users"
    INSTANCE_UNKNOWN = "LF902", "an instance type that the service does not have for this"
    NETWORK_NEEDED = "LF903", "something that stands in a network, and there is none"

    NOTEBOOK_PLATFORM_RETIRED = "LF910", "a platform of notebook instances that has ended"
    NOTEBOOK_PLATFORM = "LF911", "text that names no platform of notebook instances"
    NOTEBOOK_INTERNET = "LF912", "a notebook on the internet that nobody asked for, or around a closed network"
    NOTEBOOK_VOLUME = "LF913", "a volume that no notebook instance has"
    NOTEBOOK_IDLE = "LF914", "a time of idleness after which nothing can be stopped"
    NOTEBOOK_REPOSITORY = "LF915", "a repository that a notebook cannot clone, or with a password in its address"
    NOTEBOOK_REPOSITORIES = "LF916", "more repositories than a notebook instance takes, or one twice"
    NOTEBOOK_PIN = "LF917", "text that pins no package"
    NOTEBOOK_SCRIPT = "LF918", "a lifecycle script longer than SageMaker takes"
    NOTEBOOK_PREFIX = "LF919", "a beginning of names that no job or endpoint has"

    # LF920 to LF929 Studio
    STUDIO_IDLE = "LF920", "an idle time that Studio does not take"
    STUDIO_VOLUME = "LF921", "a volume that a space of Studio cannot have"
    STUDIO_ID = "LF922", "a user or group id that Studio does not take"
    STUDIO_IDS_DIFFER = "LF923", "a person with other ids in Studio than on a cluster"
    STUDIO_USER_TWICE = "LF924", "two users of Studio of one name or id"
    STUDIO_SIGN_IN = "LF925", "a user who cannot sign in to Studio"
    STUDIO_LUSTRE = "LF926", "a file system that Studio cannot mount"
    STUDIO_SCRIPT = "LF927", "a lifecycle script longer than Studio takes"
    STUDIO_REPOSITORY = "LF928", "repositories that Studio does not take"
    STUDIO_INTERNET = "LF929", "a way to the internet around a network that has none"

    # LF930 to LF944 what an endpoint is made of
    ENDPOINT_MODEL = "LF930", "a place that no model can be fetched from"
    ENDPOINT_TOKEN = "LF931", "a secret in an environment that everybody may read"
    ENDPOINT_TARBALL = "LF932", "an archive that only a retired image could load"
    ENDPOINT_IMAGE = "LF933", "an image that does not run on the instance, or that there is none of"
    ENDPOINT_IMAGE_RETIRED = "LF934", "an image that gets no more patches"
    ENDPOINT_IMAGE_REGION = "LF935", "an image that the region does not have"
    ENDPOINT_AMI = "LF936", "a host image whose driver the instance or the container does not go with"
    ENDPOINT_NUMBER = "LF937", "a number of an endpoint out of its bounds"
    ENDPOINT_FIT = "LF938", "a model that is larger than the memory it is to be held in"
    ENDPOINT_VOLUME = "LF939", "a volume for an instance that keeps all on its own disks"
    ENDPOINT_NEURON = "LF940", "settings for Neuron that the instance or the image has no use for"
    ENDPOINT_ISOLATED = "LF941", "a download by a container without a network"
    ENDPOINT_ENVIRONMENT = "LF942", "an environment that SageMaker refuses, or that says a thing twice"
    # LF945 to LF959 the operations of an endpoint
    CAPTURE_PERCENT = "LF945", "a share of requests to capture that is no percentage"
    CAPTURE_NOTHING = "LF946", "a capture of neither requests nor answers"
    CAPTURE_PLACE = "LF947", "a place for captured data that is no S3 URI"
    ENDPOINT_SCALING = "LF948", "numbers of instances that an endpoint cannot scale between"
    ENDPOINT_SCALING_TARGET = "LF949", "a target or a cooldown that scaling cannot follow"
    ROLLOUT_STEP = "LF950", "a step of a rollout of a size that SageMaker refuses"
    ROLLOUT_WAIT = "LF951", "a wait of a rollout that SageMaker refuses, or in which no alarm could ring"
    ROLLOUT_IMPOSSIBLE = "LF952", "a rollout in steps of what cannot be updated in steps"
    ROLLOUT_ALARMS = "LF953", "alarms of a rollout that SageMaker refuses"
    TIME_TO_LIVE = "LF954", "a lifetime of an endpoint that is none"
    BUDGET_AMOUNT = "LF955", "a budget of nothing"
    BUDGET_THRESHOLD = "LF956", "a threshold at which a budget would always tell, or never"
    BUDGET_READERS = "LF957", "a budget that nobody reads, or whose reader is none"
    ENDPOINT_ALARM = "LF958", "a threshold at which an endpoint's alarm would always ring, or never"

    # LF960 to LF971 what a training job is
    TRAINING_IMAGE = "LF960", "a training image that there is not, that is retired, or that the instance cannot run"
    TRAINING_SOURCE = "LF961", "a source bundle that a training job cannot run"
    TRAINING_HYPERPARAMETER = "LF962", "a hyperparameter, variable or tag that a training job cannot be given"
    TRAINING_CHANNEL = "LF963", "a channel that a training job cannot read"
    TRAINING_PLACE = "LF964", "a place for checkpoints or results that is none"
    TRAINING_WARM_POOL = "LF965", "a warm pool that SageMaker does not keep, or above its cap"
    TRAINING_TIME = "LF966", "a time or a number of attempts that a training job cannot have"
    TRAINING_METRIC = "LF967", "a metric that nothing can be read by"
    TRAINING_DISTRIBUTION = "LF968", "a way to distribute training that the instance, image or source does not have"
    TRAINING_TRACKING = "LF969", "a place for the record of an experiment that is none"
    TRAINING_ENDED = "LF970", "something of SageMaker training that has been ended"
    TRAINING_SETTING = "LF971", "a size, a count or a switch that a training job cannot have"
    # LF972 to LF979 how a training job is run
    TRAINING_SCHEDULE = "LF972", "a schedule that EventBridge Scheduler does not know"
    TRAINING_CAPACITY = "LF973", "a number of further attempts, or a wait before one, that cannot be"
    TRAINING_NO_SHELL = "LF974", "a shell in a job that has none"

    # LF985 to LF994 the watch
    WATCH_RESTARTS = "LF985", "a number of restarts, or a wait before one, that cannot be"
    WATCH_CONDITION = "LF986", "a condition of a watch that would always hold, or never"
    WATCH_METRIC = "LF987", "a condition on a metric that the job does not define"
    WATCH_NO_CHECKPOINTS = "LF988", "a job without checkpoints under a watch that resumes"
    WATCH_PREFIX = "LF989", "a prefix of job names that catches what nobody meant, or nothing"
    CHECKPOINT_LAYOUT = "LF990", "a way of writing checkpoints that no step can be read from"
    WATCH_CLUSTER = "LF991", "a cluster whose events nobody sends"
    WATCH_ROOM = "LF992", "more than one watch can hold"
    WATCH_OTHERS = "LF993", "jobs that a watch should restart, and may not"
    WATCH_TWICE = "LF994", "one thing watched twice"


class MetricsCode(AnyCode):
    """One mistake, one code. The string after the code says in short what it stands for."""

    RETENTION = "LF1150", "days that CloudWatch Logs cannot keep the nodes' log of metrics"
    WORKSPACE = "LF1151", "no ARN of a workspace of Amazon Managed Service for Prometheus"
    OTHER_DESTINATION = "LF1152", "a setting of metrics that their destination knows nothing of"
    OTHER_REGION = "LF1153", "a workspace of another region than the cluster"


class AlarmCode(AnyCode):
    """One mistake, one code. The string after the code says in short what it stands for."""

    MONITORING_THRESHOLD = "LF1180", "an alarm of a cluster that would always ring, or never"
    MONITORING_CLUSTER = "LF1181", "a cluster to be watched that the fleet does not have, or has twice"
    MONITORING_EMAIL = "LF1182", "somebody to be told whose e-mail address is none, or is there twice"
    MONITORING_CHAT = "LF1183", "a chat whose ids are of a form that they cannot have"
    MONITORING_RETENTION = "LF1184", "a number of days for which CloudWatch Logs keeps no log"
    FLEET_BUDGET_AMOUNT = "LF1185", "a budget of a fleet that is no sum of money"
    FLEET_BUDGET_SHARE = "LF1186", "shares of a fleet's budget that are none, too many, or twice"
    FLEET_BUDGET_TAG = "LF1187", "a budget that counts by a tag which the fleet does not bear"
    FLEET_BUDGET_ROLE = "LF1188", "a budget's action on a role that cannot be one"
    MONITORING_NAME = "LF1189", "a name that alarms, dashboard and chat cannot bear"
    NOTHING_WATCHED = "LF1190", "a monitoring without anything to watch"


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
