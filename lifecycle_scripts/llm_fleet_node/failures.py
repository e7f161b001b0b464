"""The stable codes of everything that a node refuses. A code is never reused for another failure."""

from __future__ import annotations

from enum import Enum
from typing import NoReturn

_PUT_BACK = "put the published version back (the bucket keeps versions) and replace the node"


class Code(Enum):
    """One failure, one code; the text beside it is what to do about it."""

    NO_PYTHON = ("LFN01", "use an AMI that carries Python 3.9 to 3.13, or name one in LLM_FLEET_PYTHON")  # enter.sh
    MANIFEST_MISSING = ("LFN02", _PUT_BACK)
    MANIFEST_INVALID = ("LFN03", f"fleet.json is never written by hand: {_PUT_BACK}")
    MANIFEST_NEWER = (
        "LFN04",
        "deploy the stack again with one release of llm-fleet, so that scripts and manifest match",
    )
    ROLE_UNKNOWN = ("LFN05", "use one of the roles Controller, Login and Compute")
    FILE_CHANGED = ("LFN06", f"leave published scripts as they are: {_PUT_BACK}")
    BUNDLE_MIXED = ("LFN07", f"scripts and manifest must be of one bundle: {_PUT_BACK}")
    ARGUMENTS = (
        "LFN08",
        "let the platform start its hook's script; by hand: `bash on_create.sh --list`, `--dry-run` or `--only NAME`",
    )
    PLATFORM_FILE = ("LFN10", "replace the node; if it happens again, show the file to AWS support")
    OTHER_CLUSTER = ("LFN11", "point the cluster's LifeCycleConfig at its own bundle")
    GROUP_UNKNOWN = ("LFN12", "deploy the stack again, so that the bundle knows every group of the cluster")
    CONTRADICTION = (
        "LFN13",
        "compare the files named here with the cluster's groups; replace the node if they are stale",
    )
    NO_ONE_KNOWS = ("LFN14", "look at the files named here; replace the node if the platform has not written them")
    POINTER_FETCH = (
        "LFN15",
        "see that the node reaches S3 and may read the pointer; if it is not there, deploy the stack again",
    )
    POINTER_OTHER = (
        "LFN16",
        "deploy the stack again, which writes the pointer anew; find out who else may write to the bucket",
    )
    OTHER_HOOK = ("LFN20", "set the group's hook in the fleet file or construct, and deploy the stack again")
    NO_STEPS = (
        "LFN21",
        "take names out of the steps to skip, or give the group the hook that has steps for its role",
    )
    RUNNING = ("LFN22", "wait until the run named here has ended; it goes on, and its report tells how it ended")
    STEP_UNKNOWN = ("LFN23", "take a name from `bash on_create.sh --list`, and deploy the stack again")
    NEED_UNKNOWN = ("LFN24", "name in `needs` only steps of this release or own steps of the fleet")
    CIRCLE = ("LFN25", "take one of the steps named here out of another's `needs`, and deploy the stack again")
    OWN_STEP_NAME = ("LFN26", "give each own step a name of its own, which no step of llm-fleet has")
    OWN_SCRIPT = ("LFN27", "put the script into the folder of the fleet's scripts under the name that the step gives")
    OWN_LINE_ENDS = ("LFN28", "sed -i 's/\\r$//' the script, and `* text=auto eol=lf` in .gitattributes; deploy again")
    OWN_STEP = (
        "LFN29",
        "look at what the script said, above and in the log; mend it, deploy the stack again, or run it by --only",
    )
    REPORT = ("LFN30", "look at the disk of the node: the report could not be written")
    COMMAND = (
        "LFN31",
        "look at what the command said, above and in the log; run the step again by --only once it is mended",
    )
    TIMEOUT = (
        "LFN32",
        "look at the step's last lines, above and in the log, for what it was waiting for; run it again by --only",
    )
    KILLED = (
        "LFN33",
        "look at `dmesg` for a lack of memory; run the scripts again, the step starts anew and ends the same",
    )
    STOPPED = ("LFN34", "run the scripts again: they go on where they were stopped")
    STATE = ("LFN35", "look at the disk of the node: /var/lib/llm-fleet must take files of root")
    NEED_NOT_SO = ("LFN36", "run without --only, so that the steps that it needs are applied first")
    STEP_BROKEN = ("LFN37", f"the bundle holds a step that cannot be read: {_PUT_BACK}")
    BUNDLE_FETCH = (
        "LFN38",
        "see that the node reaches S3 (endpoint, route), and that its role has s3:GetObject on the bundle and "
        "s3:ListBucket on its bucket",
    )
    BUNDLE_OTHER = (
        "LFN39",
        "deploy the stack again, so that the hook's arguments and the bundle in S3 are of one deployment",
    )
    LOG_ROTATION = ("LFN40", "install logrotate, or look at what it says of the file named here")
    OWN_NAME = (
        "LFN41",
        "take the wrong entry out of /etc/hosts, or mend the VPC's DNS; then run the step `hosts` again by --only",
    )
    NAME_TOO_LONG = (
        "LFN42",
        "shorten the domain name of the VPC's DHCP options, or ParallelCluster's cluster name: "
        "host and domain together may have 63 characters",
    )
    CONTROLLER_NAME = (
        "LFN43",
        "switch the VPC's DNS support and host names on, and see that resource_config.json names the controller",
    )
    CLOCK = (
        "LFN44",
        "start chrony (`systemctl restart chrony`) and let UDP 123 to 169.254.169.123 through; then run again",
    )
    DISK_MISSING = (
        "LFN45",
        "look at `lsblk` and at the unit named here; replace the node when a disk of its type is not there",
    )
    DISK_FULL = ("LFN46", "free space on the disk named here, or give the group a larger secondary EBS volume")
    STORAGE_NAME = (
        "LFN47",
        "compare the DNS name with the file system's in the FSx console, and switch the VPC's DNS support on",
    )
    STORAGE_PORT = (
        "LFN48",
        "let the port named here through between the node's and the file system's security groups, in both directions",
    )
    STORAGE_REFUSED = (
        "LFN49",
        "compare mount name or export path with the file system's in the FSx console, and see that it is AVAILABLE",
    )
    STORAGE_CLIENT = (
        "LFN50",
        "use an AMI that carries the client named here; Mountpoint for S3 can come from the mirror, "
        "which `llm-fleet mirror` makes",
    )
    STORAGE_UNFIT = (
        "LFN51",
        "unmount what is in the way, or mend what the cause says of it; then run the step again by --only",
    )
    LUSTRE_TCP = (
        "LFN52",
        "see that the file system has EFA enabled and that every security group lets all traffic to and from itself "
        "through; then run the steps mount_lustre and lustre_efa again by --only while nothing uses the file system, "
        "or replace the node",
    )
    ROOT_SQUASH = ("LFN53", "give the OpenZFS volume's NFS export the option no_root_squash")
    S3_MOUNT = (
        "LFN54",
        "give the node's role s3:ListBucket on the bucket and s3:GetObject on its objects (s3:PutObject too unless "
        "read only), and see that the bucket is in reach",
    )
    SLURM_MISSING = (
        "LFN55",
        "use HyperPod's Slurm AMI, or an image whose package repositories carry Slurm 22.05 or newer",
    )
    MUNGE_KEY = (
        "LFN56",
        "let all groups mount one Lustre or OpenZFS file system, by which nodes without a platform hand on the key; "
        "on HyperPod replace the node",
    )
    MUNGE_DOWN = (
        "LFN57",
        "journalctl -u munge: owner munge and mode 0400 of /etc/munge/munge.key are what it asks for",
    )
    SLURM_CONF_MISSING = (
        "LFN58",
        "look at the cluster agent's log in /var/log/aws/clusters, and replace the controller",
    )
    SLURM_CONF = ("LFN59", "mend the line named here on the controller, then `bash on_create.sh --only slurm_conf`")
    AUTO_RESUME = (
        "LFN60",
        "put TaskPlugin=task/none and SchedulerParameters=permit_job_expansion back: auto-resume needs both",
    )
    TOPOLOGY = ("LFN61", "run slurm_conf on the controller again: it writes the topology anew or takes it out")
    DATABASE = (
        "LFN62",
        "look at the database named here: does it run, may this node reach its port, is there disk left",
    )
    DATABASE_SECRET = (
        "LFN63",
        "give the secret the keys `username` and `password`, and the node's role secretsmanager:GetSecretValue on it",
    )
    SLURMDBD = ("LFN64", "look at slurmdbd's log, told above, and at its database")
    CLUSTER_ID = (
        "LFN65",
        "give the new cluster a database of its own (accounting.database), or remove the file `clustername` in "
        "StateSaveLocation when jobs known to this controller may be forgotten",
    )
    SLURMCTLD = ("LFN66", "look at slurmctld's log, told above; `slurmctld -Dvvv` says more")
    CONTROLLER_UNREACHABLE = (
        "LFN67",
        "let every security group of the cluster take all traffic from itself, in and out; is the controller up",
    )
    MUNGE_REFUSED = ("LFN68", "give both nodes one /etc/munge/munge.key and restart munge, then slurmd")
    MUNGE_CLOCK = ("LFN69", "set the clocks right (chronyc tracking): munge takes credentials no older than 300 s")
    NODE_UNKNOWN = (
        "LFN70",
        "look whether the controller's slurm.conf has a NodeName line with this host name; run `scontrol reconfigure`",
    )
    SLURM_VERSIONS = (
        "LFN71",
        "let /opt/slurm point to one version on all nodes: update the cluster's software, the controller's group first",
    )
    SLURMD = ("LFN72", "look at slurmd's log, told above; `slurmd -Dvvv` says more")
    NODE_NOT_READY = (
        "LFN73",
        "mend what the reason names, then `scontrol update nodename=<node> state=resume`",
    )
    HEALTH_CHECK = (
        "LFN74",
        "mend what the check names; `/opt/llm-fleet/slurm/health_check.sh --report` tells if it is well",
    )
    USER_IDS = (
        "LFN75",
        "give the user another name, uid or gid in the fleet file, or use an AMI without the other; "
        "ids are never changed on a node, since files on shared storage belong to the number",
    )
    HOME_UNFIT = (
        "LFN76",
        "see that the file system named here is mounted, and that nothing else is in the home's place; then run again",
    )
    SUDOERS = (
        "LFN77",
        "use an AMI that carries sudo, or take `sudo` from the users; /etc/sudoers.d was left as it was",
    )
    ACCOUNT_FILES = (
        "LFN78",
        "end the program that holds the lock named here, or remove the lock if that program is no account tool",
    )
    SLURM_ACCOUNTS = (
        "LFN79",
        "look at slurmdbd (`systemctl status slurmdbd`, `sacctmgr show associations`), "
        "then run slurm_accounts by --only",
    )
    SSH_BETWEEN_NODES = (
        "LFN80",
        "look at what ssh said here and at `journalctl -u ssh -u sshd`; an AllowUsers or PAM rule may keep users out",
    )
    CONTAINER_CONFIG = (
        "LFN81",
        "mend the file named here by hand; it was left untouched. Then run the step again by --only",
    )
    CONTAINER_DISK = (
        "LFN82",
        "stop the containers named here, if any, and run the step again by --only; "
        "else look at `docker info` and at the configuration files named here",
    )
    PYXIS = (
        "LFN83",
        "look at plugstack.conf and at what `srun --help` says; pyxis must be built for the Slurm that runs",
    )
    EXPORTER = (
        "LFN84",
        "look at `journalctl -u` of the unit named here; leave the step out with steps.skip if nobody asks for metrics",
    )
    PACKAGE_MISSING = (
        "LFN85",
        "use an AMI that carries it, or let nodes fetch it: make a mirror with `llm-fleet mirror lock` and "
        "`llm-fleet mirror build`, and name it under `downloads` in the fleet file",
    )
    NOT_PINNED = (
        "LFN86",
        "make the lock file anew with `llm-fleet mirror lock` for this system and with this package, build the mirror "
        "from it, and deploy the stack again",
    )
    DOWNLOAD_UNREACHABLE = (
        "LFN87",
        "see that the node reaches the place named here: S3's gateway endpoint and route for a mirror in a closed "
        "network, a way out to the internet for a vendor; then run again",
    )
    DOWNLOAD_GONE = (
        "LFN88",
        "mirror: run `llm-fleet mirror build` with the lock file that the stack was deployed with, it uploads what is "
        "missing; vendor: make the lock file anew, since the vendor has taken this file away",
    )
    DOWNLOAD_REFUSED = (
        "LFN89",
        "give the node's role s3:GetObject on the mirror's objects and s3:ListBucket on its bucket, and kms:Decrypt on "
        "the bucket's key where it has one",
    )
    DOWNLOAD_CHANGED = (
        "LFN90",
        "do not use the file: run `llm-fleet mirror check`, find out who changed it, and build the mirror again",
    )
    PACKAGES_LOCKED = (
        "LFN91",
        "find out what installs packages at start (unattended-upgrades, another script) and switch it off in the AMI; "
        "then run again",
    )
    PACKAGES_BROKEN = (
        "LFN92",
        "look at what the package manager said, above and in the log; where a dependency is missing make the lock file "
        "for this image anew",
    )
    NEURON_DRIVER = (
        "LFN93",
        "look at `dmesg` and `dkms status`; replace the node, or use an AMI whose kernel and Neuron driver match",
    )
    ACCELERATORS = (
        "LFN94",
        "look at `neuron-ls` or `nvidia-smi` and at the kernel's messages; reboot the node once, and if devices are "
        "still missing, replace it and tell AWS support the numbers above",
    )
    NEURON_MISMATCH = (
        "LFN95",
        "take a Neuron release whose runtime goes with the driver of the image, or bring the image up to date with "
        "UpdateClusterSoftware; docs/node-failures/LFN95.md has the table",
    )
    NEURON_PACKAGES = (
        "LFN96",
        "set the release that the image carries, or `host: install` so that nodes install the one you want",
    )
    ACCELERATOR_SETTINGS = (
        "LFN97",
        "find out which file or program of the image sets it otherwise (`grep -r` in /etc/sysctl.d and "
        "/etc/security), take that out, and run the step again by --only",
    )
    EFA_DEVICES = (
        "LFN98",
        "see that the group's network interface type is efa and the image carries the EFA driver; replace the node if "
        "interfaces are missing, or skip the step `efa_devices` in a fleet that does not use EFA",
    )
    TRAINING_STORAGE = (
        "LFN130",
        "let every group that trains mount one Lustre or OpenZFS file system, which root of the node may write, and "
        "put `training.folder` below it",
    )
    SHARED_FULL = (
        "LFN131",
        "free space on the file system named here, or make it larger; old environments and checkpoints are the first "
        "to look at: docs/node-failures/LFN131.md tells which nobody uses",
    )
    TRAINING_PROGRAMS = (
        "LFN132",
        "deploy the stack again with a whole release of llm-fleet; remove the folder named here if it was changed by "
        "hand, the next start copies it anew",
    )
    BUILD_WAIT = (
        "LFN133",
        "run the scripts again once the node named here has ended, or give the platform more time; its log tells what "
        "it is doing",
    )
    BUILD_FAILED_ELSEWHERE = (
        "LFN134",
        "mend what the cause names, on whichever of the nodes it was, and run the step again by --only",
    )
    INTERPRETER = (
        "LFN135",
        "use an image that carries the Python named here with its venv module, or make the lock file for the Python "
        "that the image has (`llm-fleet mirror lock --python`), and deploy the stack again",
    )
    WHEELS = (
        "LFN136",
        "look at what pip said: make the lock file for this image's system, Python and C library anew, and deploy the "
        "stack again",
    )
    CONDA = (
        "LFN137",
        "use an image that carries the program named here, and archives that were made for its platform",
    )
    IMAGE = (
        "LFN138",
        "look at what Enroot said; compare the image's name and tag with its registry, and see that the node reaches "
        "it",
    )
    REGISTRY = (
        "LFN139",
        "give the node's role ecr:GetAuthorizationToken, and ecr:BatchGetImage and ecr:GetDownloadUrlForLayer on the "
        "repository; a repository of another account must allow it too",
    )
    ENVIRONMENT = (
        "LFN140",
        "run the step training_environment by --only on a compute node of the group: it builds the environment anew, "
        "beside the broken one; find out who removed files from shared storage",
    )
    TRAINING_SETTINGS = (
        "LFN141",
        "find out what else writes the file named here, and run the step training_settings by --only",
    )
    COMPILE_CACHE = (
        "LFN142",
        "look at the folder or unit named here (`journalctl -u llm-fleet-compile-cache`), and run the step "
        "compile_cache by --only",
    )
    LOCK_LOST = (
        "LFN143",
        "nothing is broken: another node goes on. If it comes again, look why the shared storage stood still on this "
        "node",
    )
    METRICS_SERVICE = (
        "LFN150",
        "look at `journalctl -u llm-fleet-metrics`, and run the step metrics by --only; jobs run without it",
    )
    METRICS_SOURCE = (
        "LFN151",
        "look at what the program or device named here says on this node; all other values are sent meanwhile",
    )
    METRICS_NOT_TAKEN = (
        "LFN152",
        "see that the node reaches the service named here (endpoint, route) and that its role may write there; an hour "
        "of values waits and is sent once it can",
    )
    HOME_OWNER = (
        "LFN160",
        "put the id back that the home belongs to: ids of a user never change. If it is another person's home, give "
        "the user another login name or `home`; nothing is ever chowned by a node",
    )
    SLURM_LIMITS = (
        "LFN161",
        "look at `sacctmgr show associations`: someone else sets these limits, too, or another cluster of the same "
        "database; then run slurm_accounts by --only",
    )
    LIMITS_NOT_ENFORCED = (
        "LFN162",
        "look for another AccountingStorageEnforce or AccountingStorageTRES in slurm.conf and what it includes, take "
        "it out, and restart slurmctld; then run slurm_accounts by --only",
    )
    DIRECTORY_SECRET = (
        "LFN163",
        "let the secret's text be the reader's password alone, in one line, and give the node's role "
        "secretsmanager:GetSecretValue on it, and kms:Decrypt on its key",
    )
    NAME_SERVICE = (
        "LFN164",
        "use an image with SSSD and authselect (Amazon Linux, RHEL) or pam-auth-update (Ubuntu), and see that nobody "
        "has written the PAM or NSS file named here by hand",
    )
    DIRECTORY_DOWN = (
        "LFN165",
        "look at `journalctl -u sssd` and /var/log/sssd: does the node reach the directory's port, is its certificate "
        "of the authority that was named, may the reader bind",
    )
    DIRECTORY_USER = (
        "LFN166",
        "look the person up with ldapsearch as the reader: is the base right, does a filter keep them out, is their id "
        "within first_id and last_id",
    )
    PLACE = (
        "LFN167",
        "move what is in the way at the path named here; where its file system is read-only, look at `dmesg` for why, "
        "mount it again with `mount -o remount,rw`, or replace the node",
    )
    DNS = (
        "LFN168",
        "switch the VPC's DNS support on, let the node reach the servers named here by UDP and TCP 53, and look at "
        "`resolvectl status`; Slurm waits for DNS whenever it meets a name that /etc/hosts lacks",
    )
    UNFORESEEN = ("LFN99", "this is a defect of llm-fleet: report it with the text above")

    def __init__(self, code: str, remedy: str) -> None:
        self.code = code
        self.remedy = remedy


class Failure(Exception):
    """Why the node is not fit for work."""

    def __init__(self, code: Code, cause: str, *, final: bool = False) -> None:
        """Take the stable code and what happened here, with the values that matter.

        `final`: another attempt would end the same, so none is made.
        """
        super().__init__(f"{code.code}  {cause}\n  remedy: {code.remedy}")
        self.code = code
        self.cause = cause
        self.final = final


def fail(code: Code, cause: str, *, final: bool = False) -> NoReturn:
    """Raise the failure; `final` when another attempt would end the same."""
    raise Failure(code, cause, final=final)
