"""The stable codes of everything that llm-fleet refuses at synth. A code is never reused for another mistake.

LF1xx the fleet file itself · LF2xx network · LF3xx storage · LF4xx roles and the lifecycle bundle · LF5xx HyperPod
"""

from enum import StrEnum


class Code(StrEnum):
    """One mistake, one code. The string after the code says in short what it stands for."""

    def __new__(cls, code: str, title: str) -> "Code":
        """Make a member whose value is `code` and whose `title` says in short what the mistake is."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.title_ = title
        return member

    title_: str

    FILE_UNREADABLE = "LF101", "the fleet file cannot be read"
    FILE_TOO_LARGE = "LF102", "the fleet file is larger than any fleet needs"
    FILE_NOT_TEXT = "LF103", "the fleet file is no UTF-8 text"
    FILE_NOT_YAML = "LF104", "the fleet file does not parse as YAML"
    FILE_EMPTY = "LF105", "the fleet file holds nothing"
    FILE_NOT_A_MAPPING = "LF106", "the fleet file is no mapping of keys to values"
    DUPLICATE_KEY = "LF107", "a key written twice"
    YAML_FEATURE = "LF108", "a feature of YAML that a fleet file does not have"
    YAML_DEPTH = "LF109", "a fleet file nested deeper than any fleet is"
    UNKNOWN_KEY = "LF110", "a key that does not exist"
    MISSING_KEY = "LF111", "a key that must be there"
    EMPTY_VALUE = "LF112", "a key without a value"
    WRONG_TYPE = "LF113", "a value of the wrong type"
    NOT_A_CHOICE = "LF114", "a word that is none of those allowed"
    QUANTITY = "LF115", "a quantity without its unit, or with a wrong one"
    TEXT_FORM = "LF116", "text of the wrong form"
    CONTRADICTION = "LF117", "two keys that exclude each other"
    FLEET_NAME = "LF118", "a fleet name that AWS resources cannot bear"
    UNKNOWN_REFERENCE = "LF119", "a name that nothing in the fleet file has"
    REQUEST_NOT_JSON = "LF150", "the request does not parse as JSON"
    REQUEST_SHAPE = "LF151", "the request is not one of sagemaker create-cluster"
    REQUEST_NOT_SLURM = "LF152", "a request for a cluster that is not Slurm's"
    REQUEST_ROLES = "LF153", "a request that does not tell what its groups do"
    REQUEST_REGION = "LF154", "a request that does not tell its region"
    REQUEST_VALUE = "LF155", "a value in the request that no fleet file can hold"
    OUTPUT_EXISTS = "LF160", "the file to write exists already"
    OUTPUT_UNWRITABLE = "LF161", "the file to write cannot be written"

    # LF2xx network
    CIDR_INVALID = "LF201", "text that is no IPv4 CIDR block"
    CIDR_SIZE = "LF202", "a CIDR block of a size that no VPC can have"
    CIDR_RANGE = "LF203", "a CIDR block outside the private ranges, or in one that nodes use themselves"
    CIDR_OVERLAP = "LF204", "two CIDR blocks of one VPC that overlap"
    CIDR_ASSOCIATION = "LF205", "a secondary CIDR block that AWS refuses beside the primary one"
    ZONE_WITHOUT_SUBNET = "LF206", "an AZ in which the network has no compute subnet"
    ZONE_MISSING = "LF207", "a network without an AZ"
    ZONE_ID = "LF208", "text that is no AZ id"
    ZONE_REGION = "LF209", "an AZ that is not in the region"
    ZONE_TWICE = "LF210", "an AZ named twice"
    ZONE_LIMIT = "LF211", "more AZs than the network has room for"
    CIDR_SPLIT = "LF212", "a CIDR block too small to be split among the AZs"
    ENDPOINT_UNKNOWN = "LF213", "an endpoint that AWS does not offer"
    INTERNET_ACCESS = "LF214", "no such way out to the internet"
    EXISTING_ID = "LF215", "text that is no id of an existing VPC, subnet or security group"
    SUBNET_TOO_SMALL = "LF220", "a compute subnet too small for the clusters in it"
    INTERFACE_QUOTA = "LF221", "more network interfaces than the quota allows"
    INTERFACE_QUOTA_VALUE = "LF222", "a quota that is no positive number"

    # LF3xx storage
    LUSTRE_TYPE = "LF301", "no such Lustre deployment and storage type"
    LUSTRE_CAPACITY = "LF302", "a Lustre capacity that is not sold"
    LUSTRE_THROUGHPUT = "LF303", "a Lustre throughput that is not sold"
    LUSTRE_EFA = "LF304", "EFA on a Lustre file system that cannot have it"
    LUSTRE_METADATA = "LF305", "Lustre metadata IOPS that are not sold"
    LUSTRE_VERSION = "LF306", "a Lustre version that does not go with the rest"
    LUSTRE_CACHE = "LF307", "a cache that does not go with the storage type"
    FILE_SYSTEM_BACKUP = "LF308", "automatic backups that the service does not make"
    FILE_SYSTEM_TIME = "LF309", "a time of day or week that the service cannot read"
    FILE_SYSTEM_COMPRESSION = "LF310", "an unknown compression"
    FILE_SYSTEM_KEY = "LF311", "a KMS key on a file system that takes none"
    FILE_SYSTEM_LOG = "LF312", "a log level or log group that FSx refuses"
    DATA_REPOSITORY_UNSUPPORTED = "LF320", "a data repository on a file system that takes none"
    DATA_REPOSITORY_PATH = "LF321", "a data repository path that FSx refuses"
    DATA_REPOSITORY_OVERLAP = "LF322", "data repositories whose paths overlap"
    DATA_REPOSITORY_LIMIT = "LF323", "more data repositories than a file system takes"
    DATA_REPOSITORY_OPTION = "LF324", "a data repository option that FSx refuses"
    OPEN_ZFS_TYPE = "LF330", "no such OpenZFS deployment type"
    OPEN_ZFS_CAPACITY = "LF331", "an OpenZFS capacity that is not sold"
    OPEN_ZFS_THROUGHPUT = "LF332", "an OpenZFS throughput that is not sold"
    OPEN_ZFS_OPTION = "LF333", "an OpenZFS volume option that FSx refuses"
    BUCKET_NAME = "LF340", "a bucket name that S3 refuses"
    BUCKET_LIFECYCLE = "LF341", "a bucket lifecycle that S3 refuses"

    LIFECYCLE_BUCKET_PREFIX = "LF401", "a lifecycle bucket whose name does not begin as HyperPod asks"
    LIFECYCLE_BUCKET_NAME = "LF402", "a lifecycle bucket name that S3 refuses"
    BUNDLE_ENTRY_MISSING = "LF403", "a bundle without the script that HyperPod is told to run"
    BUNDLE_LINE_ENDS = "LF404", "a script with Windows line ends"
    BUNDLE_RUN_BIT = "LF405", "a script without its run bit"
    BUNDLE_SYMLINK = "LF406", "a link in the bundle, which S3 cannot hold"
    BUNDLE_SIZE = "LF407", "a bundle too big to start a node quickly"
    BUNDLE_NAME = "LF408", "a file in the bundle whose name is taken or that S3 and nodes read differently"
    MANIFEST_GROUP = "LF410", "groups that a node cannot tell itself by"
    MANIFEST_MOUNT = "LF411", "mounts that a node cannot make"
    NODE_POLICY_SIZE = "LF420", "a node policy longer than IAM takes"
