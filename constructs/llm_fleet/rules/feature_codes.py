"""Codes of the features that have many, and of the commands.

LF900 to LF994 the SageMaker pieces around clusters: to LF909 what they share · LF910 to LF919 notebooks ·
LF920 to LF929 Studio · LF930 to LF959 endpoints · LF960 to LF979 training jobs · from LF980 on the watch.
LF1150 to LF1179 metrics of nodes · LF1180 to LF1199 alarms, notifications and budgets · LF1200 to LF1229 users ·
LF1250 to LF1259 the role that deploys a fleet
"""

from llm_fleet.rules.problem import AnyCode


class SageMakerCode(AnyCode):
    """One mistake, one code. The string after the code is its title in the docs."""

    NAME = "LF900", "a name that the service rejects"
    INSTANCE_RETIRED = "LF901", "an instance type that is closed to new customers"
    INSTANCE_UNKNOWN = "LF902", "an instance type that the service does not support for this"
    NETWORK_NEEDED = "LF903", "a resource that requires a network, in a fleet without one"

    NOTEBOOK_PLATFORM_RETIRED = "LF910", "a retired platform of notebook instances"
    NOTEBOOK_PLATFORM = "LF911", "an unknown platform of notebook instances"
    NOTEBOOK_INTERNET = (
        "LF912",
        "a notebook with direct internet access that was not requested, or that bypasses a closed network",
    )
    NOTEBOOK_VOLUME = "LF913", "an unsupported volume size of a notebook instance"
    NOTEBOOK_IDLE = "LF914", "an invalid idle time of a notebook instance"
    NOTEBOOK_REPOSITORY = "LF915", "a repository that a notebook cannot clone, or whose URL has a password"
    NOTEBOOK_REPOSITORIES = "LF916", "too many repositories of a notebook instance, or a duplicate"
    NOTEBOOK_PIN = "LF917", "an invalid pinned package"
    NOTEBOOK_SCRIPT = "LF918", "a lifecycle script that exceeds SageMaker's size limit"
    NOTEBOOK_PREFIX = "LF919", "an invalid prefix of job and endpoint names"

    # LF920 to LF929 Studio
    STUDIO_IDLE = "LF920", "an idle time that Studio does not support"
    STUDIO_VOLUME = "LF921", "a volume size that a Studio space does not support"
    STUDIO_ID = "LF922", "a user or group ID that Studio does not support"
    STUDIO_IDS_DIFFER = "LF923", "a user with different IDs in Studio and on a cluster"
    STUDIO_USER_TWICE = "LF924", "two Studio users with the same name or ID"
    STUDIO_SIGN_IN = "LF925", "a user who cannot sign in to Studio"
    STUDIO_LUSTRE = "LF926", "a file system that Studio cannot mount"
    STUDIO_SCRIPT = "LF927", "a lifecycle script that exceeds Studio's size limit"
    STUDIO_REPOSITORY = "LF928", "repositories that Studio does not support"
    STUDIO_INTERNET = "LF929", "internet access that bypasses a closed network"

    # LF930 to LF944 what an endpoint is made of
    ENDPOINT_MODEL = "LF930", "an invalid model location"
    ENDPOINT_TOKEN = "LF931", "a secret in environment variables that many can read"
    ENDPOINT_TARBALL = "LF932", "a model archive that only a retired image can load"
    ENDPOINT_IMAGE = "LF933", "an image that does not exist or does not support the instance type"
    ENDPOINT_IMAGE_RETIRED = "LF934", "an image that no longer gets patches"
    ENDPOINT_IMAGE_REGION = "LF935", "an image that the region does not offer"
    ENDPOINT_AMI = "LF936", "an inference AMI whose driver does not match the instance or the container"
    ENDPOINT_NUMBER = "LF937", "an endpoint setting outside its range"
    ENDPOINT_FIT = "LF938", "a model that does not fit in memory"
    ENDPOINT_VOLUME = "LF939", "an EBS volume for an instance type with local disks"
    ENDPOINT_NEURON = "LF940", "Neuron settings that the instance type or image does not use"
    ENDPOINT_ISOLATED = "LF941", "a download by a container without network access"
    ENDPOINT_ENVIRONMENT = "LF942", "environment variables that SageMaker rejects, or that duplicate a setting"
    # LF945 to LF959 the operations of an endpoint
    CAPTURE_PERCENT = "LF945", "a capture percentage outside its range"
    CAPTURE_NOTHING = "LF946", "data capture of neither requests nor responses"
    CAPTURE_PLACE = "LF947", "an invalid S3 location for captured data"
    ENDPOINT_SCALING = "LF948", "an invalid range of instance counts for scaling"
    ENDPOINT_SCALING_TARGET = "LF949", "an invalid scaling target or cooldown"
    ROLLOUT_STEP = "LF950", "a rollout step size that SageMaker rejects"
    ROLLOUT_WAIT = "LF951", "a rollout wait that SageMaker rejects, or that is too short for an alarm"
    ROLLOUT_IMPOSSIBLE = "LF952", "a rolling update of an endpoint that does not support it"
    ROLLOUT_ALARMS = "LF953", "alarms of a rollout that SageMaker rejects"
    TIME_TO_LIVE = "LF954", "an invalid time to live of an endpoint"
    BUDGET_AMOUNT = "LF955", "an invalid budget amount"
    BUDGET_THRESHOLD = "LF956", "a budget threshold that is always or never reached"
    BUDGET_READERS = "LF957", "a budget without recipients, or with an invalid recipient"
    ENDPOINT_ALARM = "LF958", "an endpoint alarm threshold that is always or never reached"

    # LF960 to LF971 what a training job is
    TRAINING_IMAGE = "LF960", "a training image that does not exist, is retired, or does not support the instance type"
    TRAINING_SOURCE = "LF961", "source code that a training job cannot run"
    TRAINING_HYPERPARAMETER = "LF962", "an invalid hyperparameter, environment variable or tag of a training job"
    TRAINING_CHANNEL = "LF963", "a channel that a training job cannot read"
    TRAINING_PLACE = "LF964", "an invalid location of checkpoints or results"
    TRAINING_WARM_POOL = "LF965", "a warm pool that SageMaker does not support, or above its limit"
    TRAINING_TIME = "LF966", "a time or number of attempts outside the range for training jobs"
    TRAINING_METRIC = "LF967", "an invalid metric definition"
    TRAINING_DISTRIBUTION = "LF968", "a distribution that the instance type, image or source code does not support"
    TRAINING_TRACKING = "LF969", "an invalid location of the experiment tracking data"
    TRAINING_ENDED = "LF970", "a retired feature of SageMaker training"
    TRAINING_SETTING = "LF971", "a setting outside the range for training jobs"
    # LF972 to LF979 how a training job is run
    TRAINING_SCHEDULE = "LF972", "a schedule that EventBridge Scheduler rejects"
    TRAINING_CAPACITY = "LF973", "an invalid number of retries for capacity, or an invalid wait"
    TRAINING_NO_SHELL = "LF974", "remote debugging of a job that does not support it"

    # LF985 to LF994 the watch
    WATCH_RESTARTS = "LF985", "an invalid number of restarts, or an invalid wait"
    WATCH_CONDITION = "LF986", "a watch condition that is always or never true"
    WATCH_METRIC = "LF987", "a watch condition on a metric that the job does not define"
    WATCH_NO_CHECKPOINTS = "LF988", "a job without checkpoints under a watch that resumes it"
    WATCH_PREFIX = "LF989", "a job name prefix that matches too much, or nothing"
    CHECKPOINT_LAYOUT = "LF990", "a checkpoint layout from which no step can be read"
    WATCH_CLUSTER = "LF991", "a cluster that sends no events"
    WATCH_ROOM = "LF992", "more jobs than one watch supports"
    WATCH_OTHERS = "LF993", "jobs that a watch has no permission to restart"
    WATCH_TWICE = "LF994", "something watched twice"


class MetricsCode(AnyCode):
    """One mistake, one code. The string after the code is its title in the docs."""

    RETENTION = "LF1150", "an unsupported retention of node metrics"
    WORKSPACE = "LF1151", "an invalid workspace ARN of Amazon Managed Service for Prometheus"
    OTHER_DESTINATION = "LF1152", "a metrics setting that the destination does not use"
    OTHER_REGION = "LF1153", "a Prometheus workspace in another region than the cluster"


class AlarmCode(AnyCode):
    """One mistake, one code. The string after the code is its title in the docs."""

    MONITORING_THRESHOLD = "LF1180", "a cluster alarm threshold that is always or never reached"
    MONITORING_CLUSTER = "LF1181", "an unknown or duplicate cluster under monitoring"
    MONITORING_EMAIL = "LF1182", "an invalid or duplicate e-mail address for notifications"
    MONITORING_CHAT = "LF1183", "an invalid ID of a chat channel"
    MONITORING_RETENTION = "LF1184", "an unsupported log retention"
    FLEET_BUDGET_AMOUNT = "LF1185", "an invalid budget amount of a fleet"
    FLEET_BUDGET_SHARE = "LF1186", "invalid, duplicate or too many thresholds of a fleet's budget"
    FLEET_BUDGET_TAG = "LF1187", "a budget filter on a tag that the fleet does not have"
    FLEET_BUDGET_ROLE = "LF1188", "a budget action on an invalid role"
    MONITORING_NAME = "LF1189", "an invalid name of alarms, dashboard and chat"
    NOTHING_WATCHED = "LF1190", "monitoring without anything to monitor"


class PeopleCode(AnyCode):
    """One mistake, one code. The string after the code is its title in the docs."""

    TWO_IDS = "LF1200", "one user with two IDs in the fleet"
    SHARED_ID = "LF1201", "two users with the same ID in the fleet"
    HOME_PATH = "LF1202", "an invalid home directory"
    HOME_LOCAL = "LF1203", "a home directory that nodes do not share"
    HOME_TWICE = "LF1204", "two users with the same home directory"
    ACCOUNT_NAME = "LF1205", "a Slurm account name that Slurm rejects"
    ACCOUNT_PARENT = "LF1206", "an inconsistent tree of Slurm accounts"
    ACCOUNT_LIMIT = "LF1207", "a limit that Slurm rejects"
    ACCOUNT_TRES = "LF1208", "an unknown trackable resource (TRES)"
    NO_ACCOUNTING = "LF1209", "Slurm limits without accounting"
    USER_WITHOUT_ACCOUNT = "LF1210", "a user who cannot submit jobs"
    ACCOUNT_UNKNOWN = "LF1211", "an unknown Slurm account of a user"
    ENFORCE = "LF1212", "Slurm limits that are not enforced"
    DIRECTORY_URI = "LF1213", "a directory without TLS"
    DIRECTORY_CERTIFICATE = "LF1214", "a directory without its CA certificate"
    DIRECTORY_VALUE = "LF1215", "an invalid directory setting"
    DIRECTORY_IDS = "LF1216", "overlapping IDs of the directory and the fleet"
    DIRECTORY_PACKAGES = "LF1217", "SSSD is not installed on the nodes"
    DIRECTORY_TWICE = "LF1218", "a directory that is configured twice"
    RUN_AS = "LF1219", "an invalid run-as user of sessions"
    SESSION = "LF1220", "a setting that Session Manager rejects"


class RetainedCode(AnyCode):
    """One mistake, one code. The string after the code is its title in the docs."""

    ID_UNKNOWN = "LF1239", "an id that no retained resource of the fleet has"
    STILL_DEPLOYED = "LF1231", "a change of retained resources while the fleet is deployed"
    NOT_CONFIRMED = "LF1232", "a deletion of retained resources that was not confirmed"
    OTHERS_USE_IT = "LF1233", "a retained network that has resources of others"
    NOT_DELETED = "LF1234", "a retained resource that this command does not delete"
    KEY_NEEDED = "LF1235", "a KMS key that retained data may still need"
    SEVERAL = "LF1236", "several retained resources for one key of the fleet file"
    BUCKET_UNNAMED = "LF1237", "an existing bucket without its name"
    DELETION_LONG = "LF1238", "a file system whose deletion takes too long"
    DOES_NOT_FIT = "LF1270", "a retained network that does not match the fleet file"
    KEY_STATE = "LF1271", "retained data whose KMS key cannot be used"
    MISSING = "LF1272", "a fleet file that names deleted resources"


class DeployCode(AnyCode):
    """One mistake, one code. The string after the code is its title in the docs."""

    REPOSITORY = "LF1250", "an invalid repository of a deployment role"
    SUBJECT = "LF1251", "jobs that a deployment role cannot trust"
    ASSEMBLY = "LF1252", "a folder without a fleet's templates"
    TYPE_UNKNOWN = "LF1253", "a resource type whose IAM actions are unknown"
    POLICIES = "LF1254", "more execution policies than a role can have"
    OWN_NAME = "LF1255", "a deployment role that could change its own permissions"
    BOUNDARY = "LF1256", "an invalid permissions boundary of a deployment role"
    ISSUER = "LF1257", "an unknown issuer of GitHub's tokens"


class CommandCode(AnyCode):
    """One mistake, one code. The string after the code is its title in the docs."""

    NO_BOTO3 = "LF1000", "boto3 is not installed, which calls to AWS require"
    NO_CREDENTIALS = "LF1001", "no AWS credentials"
    EXPIRED = "LF1002", "expired AWS credentials"
    INVALID_CREDENTIALS = "LF1003", "AWS credentials that are invalid, or invalid in this region"
    DENIED = "LF1004", "access denied for these credentials"
    THROTTLED = "LF1005", "a call that AWS throttled repeatedly"
    UNREACHABLE = "LF1006", "an AWS endpoint that does not answer"
    REGION = "LF1007", "a region that is missing, unknown or not enabled"
    GONE = "LF1008", "an AWS resource that does not exist, or no longer"
    REFUSED = "LF1009", "a call that AWS rejected for another reason"

    PLACE_UNKNOWN = "LF1010", "an unknown cluster or service"
    PLACE_NEEDED = "LF1011", "several clusters or services, and none was named"
    PLACE_KIND = "LF1012", "a command for another kind of cluster or service"
    FILE_OR_NAME = "LF1013", "neither a fleet file nor the name of a resource in AWS"

    NO_LOCAL = "LF1014", "the packages of llm-fleet[local] are not installed, which local deployments require"
    LOCAL_FAILED = "LF1015", "a local deployment that cannot continue"

    NEW_IN_THE_WAY = "LF1230", "a directory for a new project that is not empty"

    @property
    def is_of_aws(self) -> bool:
        """Whether AWS could not be queried, so that the result is unknown."""
        return self.value <= CommandCode.REFUSED.value and self is not CommandCode.GONE


class CheckCode(AnyCode):
    """One mistake, one code. The string after the code is its title in the docs."""

    QUOTA = "LF1020", "a quota that is smaller than the fleet requires"
    QUOTA_UNKNOWN = "LF1021", "a quota that AWS does not have in this region"

    NOT_OFFERED = "LF1022", "an instance type that is not offered in the AZ"
    ZONE_OF_ACCOUNT = "LF1023", "an AZ that the account does not have"

    PLAN_STATUS = "LF1024", "a training plan without capacity now"
    PLAN_TIME = "LF1025", "a training plan that has ended, or ends soon"
    PLAN_ZONE = "LF1026", "a training plan in another AZ than the group"
    PLAN_COUNT = "LF1027", "a training plan with fewer free instances than the group requires"
    PLAN_TYPE = "LF1028", "a training plan for another instance type or use"

    RESERVATION_STATE = "LF1029", "a capacity reservation without capacity now"
    RESERVATION_TIME = "LF1030", "a capacity reservation that has ended, or ends soon"
    RESERVATION_ZONE = "LF1031", "a capacity reservation in another AZ than the nodes"
    RESERVATION_COUNT = "LF1032", "a capacity reservation with fewer free instances than the nodes require"
    RESERVATION_TYPE = "LF1033", "a capacity reservation of other instances"

    FREE_ADDRESSES = "LF1034", "an existing subnet with fewer free addresses than the fleet requires"
    SUBNET_ELSEWHERE = "LF1035", "an existing subnet in another VPC or AZ than the fleet file says"
    EFA_RULES = "LF1036", "a security group that does not allow EFA traffic from and to itself"
    FILE_SYSTEM_PORTS = "LF1037", "security groups that block traffic between nodes and file system"
    ENDPOINT_MISSING = "LF1038", "a closed existing network without a required VPC endpoint"
    ENDPOINT_UNUSABLE = "LF1039", "a VPC endpoint that nodes cannot use"
    DEAD_ROUTE = "LF1040", "an existing subnet with a blackhole route"
    SECURITY_GROUP_ELSEWHERE = "LF1041", "a security group of another VPC"

    IN_THE_WAY = "LF1059", "a part of a VPC that prevents the deployment of a missing part of the network"

    RULE_EXISTS = "LF1056", "a security group rule that exists already and that the deployment makes"

    NETWORK_MISSING = "LF1045", "a VPC, subnet or security group that is not in this account and region"

    BUCKET_MISSING = "LF1042", "a bucket that does not exist"
    BUCKET_REGION = "LF1043", "a bucket in another region"
    BUCKET_TAKEN = "LF1044", "a new bucket whose name is already in use"
    FILE_SYSTEM_STATE = "LF1046", "an existing file system that cannot be mounted now"
    FILE_SYSTEM_ZONE = "LF1047", "an existing file system in another AZ or VPC"
    FILE_SYSTEM_OTHER = "LF1048", "an existing file system that is not what the fleet file says"

    KEY = "LF1060", "a KMS key that the fleet cannot use"

    IMAGE_STATE = "LF1049", "a custom image that does not exist, is not ready, or does not suit the nodes"
    IMAGE_AGE = "LF1050", "an image that is older than a feature that the fleet requires"
    IMAGE_PARAMETER = "LF1051", "a release of an image that AWS does not publish in this region"

    MODEL_MISSING = "LF1052", "a model that is not in its bucket"
    TOKEN_SECRET = "LF1053", "a secret with the Hub's token that does not exist"
    GATED = "LF1054", "a gated Hub model that this token cannot download"
    CERTIFICATE = "LF1055", "a certificate that cannot be used"

    ENDPOINT_NOT_OFFERED = "LF1058", "an interface endpoint whose service AWS does not offer in the AZ"


class NodesCode(AnyCode):
    """One mistake, one code. The string after the code is its title in the docs."""

    NO_NODES = "LF1100", "a cluster or service without nodes, or not in the region"
    NODE_UNKNOWN = "LF1101", "an unknown node"
    NODE_AMBIGUOUS = "LF1102", "a name that matches several nodes"
    NODE_NOT_RUNNING = "LF1103", "a session with a node that is not running"
    GROUP_UNKNOWN = "LF1104", "an instance group or queue without nodes"
    STATUS_UNKNOWN = "LF1105", "an unknown status"
    PROGRAM_MISSING = "LF1106", "a program that sessions require is not installed"
    THROTTLED = "LF1107", "sessions that AWS throttled repeatedly"
    NOT_REACHED = "LF1108", "a node or task that Session Manager cannot reach"
    CUT_OFF = "LF1109", "a command whose session ended before it did"
    PORTS = "LF1110", "invalid ports to forward"
    SLURM_SILENT = "LF1111", "the node states of Slurm are not available"
    SLURM_UNREADABLE = "LF1112", "the node states of Slurm have an unknown format"
    SSH_FILE = "LF1113", "a file for ssh that cannot be written"
    SSH_NONE = "LF1114", "ssh to a target without an ssh server"


class LogsCode(AnyCode):
    """One mistake, one code. The string after the code is its title in the docs."""

    SINCE = "LF1120", "an invalid time or time span"
    NO_LOG = "LF1121", "a cluster or service without logs"
    NODE_UNKNOWN = "LF1122", "a node without a log or a report"
    LOG_UNKNOWN = "LF1123", "a kind of log that this cluster or service does not have"
    CODE_FORM = "LF1124", "an invalid failure code of a node"

    GROUP_UNKNOWN = "LF1130", "an unknown instance group"
    IMAGE_FORM = "LF1131", "neither an AMI ID nor an image release"
    UPGRADE_NEEDS_FILE = "LF1132", "an upgrade that requires the fleet file"

    BUNDLE_EXISTS = "LF1140", "a support bundle whose file already exists"
    BUNDLE_UNWRITABLE = "LF1141", "a support bundle cannot be written"


class PlanCode(AnyCode):
    """One mistake, one code. The string after the code is its title in the docs."""

    ASSEMBLY = "LF1080", "a folder that is not a cloud assembly"
    SYNTH = "LF1081", "a valid fleet file whose synthesis fails"
    NO_CDK = "LF1082", "the CDK or Node.js is not installed, which synthesis requires"
    PRICE_FILE = "LF1083", "an invalid price file"
    PRICE_LIST = "LF1084", "an AWS Price List response without the requested price"
    NO_SYNTH = "LF1085", "an option that requires the synthesis, which was turned off"
    DATA = "LF1086", "a deployment that leaves data behind, or deletes it"
    JOBS = "LF1087", "a deployment that ends running jobs"
    REFUSED = "LF1088", "a deployment that CloudFormation or a service would reject"
    ADDRESS = "LF1089", "a deployment that changes the address of a service"
    LEFT_STACK = "LF1090", "a deployed stack that the fleet file no longer has"

    # Of the picture, from the end of the range.
    NO_GRAPHVIZ = "LF1098", "a picture without Graphviz installed"
    NO_ASSEMBLY = ("LF1099", "a folder that is not a synthesized cloud assembly")


class FactsCode(AnyCode):
    """One mistake, one code. The string after the code is its title in the docs."""

    UNKNOWN_NAME = "LF1240", "an unknown name of facts"
    ACCOUNT_FILE = "LF1241", "an invalid file of an account's facts"


class ProveCode(AnyCode):
    """One mistake, one code. The string after the code is its title in the docs."""

    UNKNOWN_CLAIM = "LF1260", "an unknown assumption, or one that the fleet does not depend on"
    NOT_CONFIRMED = "LF1261", "a run of experiments that was not confirmed"
    REPORT = "LF1262", "a file that is not a report of experiments"
    OTHER_ACCOUNT = "LF1263", "a run of experiments in another account than that of the credentials"
    NO_JOURNAL = "LF1264", "a run of experiments whose journal cannot be written"
