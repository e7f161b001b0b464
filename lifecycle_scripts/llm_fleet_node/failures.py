"""The error codes of nodes. A code is never reused for another failure."""

from __future__ import annotations

from enum import Enum
from typing import NoReturn

_RESTORE = "restore the published version of the object (the bucket has versioning) and replace the node"


class Code(Enum):
    """One code for each failure, with its remedy."""

    # enter.sh
    NO_PYTHON = ("LFN01", "use an AMI that has Python 3.9 to 3.13, or set LLM_FLEET_PYTHON to the path of one")
    MANIFEST_MISSING = ("LFN02", _RESTORE)
    MANIFEST_INVALID = ("LFN03", f"restore the published fleet.json, which must not be edited: {_RESTORE}")
    MANIFEST_NEWER = (
        "LFN04",
        "deploy the stack again with one release of llm-fleet, so that the scripts match the manifest",
    )
    ROLE_UNKNOWN = ("LFN05", "use one of the roles Controller, Login and Compute")
    FILE_CHANGED = ("LFN06", f"do not edit published scripts: {_RESTORE}")
    BUNDLE_MIXED = ("LFN07", f"scripts and manifest must belong to the same bundle: {_RESTORE}")
    ARGUMENTS = (
        "LFN08",
        "leave the arguments that the platform passes unchanged; to run it by hand, use `bash on_create.sh` with "
        "`--list`, `--dry-run` or `--only NAME`",
    )
    PLATFORM_FILE = ("LFN10", "replace the node; if the error comes back, send the file to AWS Support")
    CLUSTER_MISMATCH = ("LFN11", "set the cluster's LifeCycleConfig to the bundle of this cluster")
    GROUP_UNKNOWN = ("LFN12", "deploy the stack again, so that the bundle lists every instance group of the cluster")
    IDENTITY_CONTRADICTION = (
        "LFN13",
        "compare the files in the message with the cluster's instance groups; replace the node if they are stale",
    )
    GROUP_NOT_IDENTIFIED = (
        "LFN14",
        "check the files in the message; replace the node if the platform has not written them",
    )
    POINTER_FETCH = (
        "LFN15",
        "check that the node can reach S3 and that its role can read the pointer; if the pointer is missing, deploy "
        "the stack again",
    )
    POINTER_INVALID = (
        "LFN16",
        "deploy the stack again, which rewrites the pointer; find out who else can write to the bucket",
    )
    HOOK_MISMATCH = (
        "LFN20",
        "set the hook of the instance group in the fleet file or the construct, and deploy the stack again",
    )
    NO_STEPS = ("LFN21", "remove names from `scripts.skip`, or choose a hook that has steps for this role")
    ALREADY_RUNNING = ("LFN22", "wait until the run in the message has ended; its result is in report.json")
    STEP_UNKNOWN = ("LFN23", "choose a name from `bash on_create.sh --list`, and deploy the stack again")
    NEED_UNKNOWN = ("LFN24", "list in `needs` only steps of this release or custom steps")
    DEPENDENCY_CYCLE = (
        "LFN25",
        "remove one of the steps in the message from the `needs` of another, and deploy the stack again",
    )
    CUSTOM_STEP_NAME = ("LFN26", "give each custom step a unique name that no step of llm-fleet has")
    CUSTOM_SCRIPT_MISSING = (
        "LFN27",
        "put the script into the folder of the fleet's scripts, under the name that the step has in the fleet file",
    )
    CUSTOM_SCRIPT_LINE_ENDINGS = (
        "LFN28",
        "convert the line endings with `sed -i 's/\\r$//'`, add `* text=auto eol=lf` to .gitattributes, and deploy "
        "the stack again",
    )
    CUSTOM_STEP = (
        "LFN29",
        "read the output of the script above and in the log; fix it and deploy the stack again, or run the step again "
        "with `--only`",
    )
    REPORT = ("LFN30", "check the disk of the node with `df -h` and `dmesg`: the report could not be written")
    COMMAND = (
        "LFN31",
        "read the output of the command above and in the log; fix the cause, then run the step again with `--only`",
    )
    TIMEOUT = (
        "LFN32",
        "read the last lines of the step above and in the log to see what it waited for; then run it again with "
        "`--only`",
    )
    KILLED = (
        "LFN33",
        "look for out-of-memory messages in `dmesg`, then run the scripts again: the step is repeated safely",
    )
    STOPPED = ("LFN34", "run the scripts again: they continue where they were stopped")
    STATE = (
        "LFN35",
        "check the disk of the node with `df -h` and `dmesg`: root must be able to write to /var/lib/llm-fleet",
    )
    NEEDED_STEP_NOT_APPLIED = (
        "LFN36",
        "run the scripts without `--only`, so that the steps that this one needs are applied first",
    )
    STEP_NOT_LOADED = ("LFN37", f"the bundle contains a step that cannot be loaded: {_RESTORE}")
    BUNDLE_FETCH = (
        "LFN38",
        "check that the node can reach S3 (VPC endpoint, route table), and that its role has s3:GetObject on the "
        "bundle and s3:ListBucket on its bucket",
    )
    BUNDLE_MISMATCH = (
        "LFN39",
        "deploy the stack again, so that the arguments of the hook and the bundle in S3 come from the same deployment",
    )
    LOG_ROTATION = ("LFN40", "install logrotate, or fix the error that it reports for the file in the message")
    HOST_NAME = (
        "LFN41",
        "remove the wrong entry from /etc/hosts, or fix the DNS of the VPC; then run the step `hosts` again with "
        "`--only`",
    )
    HOST_NAME_TOO_LONG = (
        "LFN42",
        "shorten the domain name in the VPC's DHCP options, or the ParallelCluster cluster name: host name and domain "
        "name together can have at most 63 characters",
    )
    CONTROLLER_NAME = (
        "LFN43",
        "enable DNS support and DNS host names in the VPC, and check that resource_config.json lists the controller",
    )
    CLOCK = (
        "LFN44",
        "start chrony (`systemctl restart chrony`) and allow UDP port 123 to 169.254.169.123; then run the scripts "
        "again",
    )
    DISK_MISSING = (
        "LFN45",
        "check `lsblk` and the unit in the message; replace the node if a disk of its instance type is missing",
    )
    DISK_FULL = (
        "LFN46",
        "free space on the disk in the message, or give the instance group a larger secondary EBS volume",
    )
    STORAGE_NAME = (
        "LFN47",
        "compare the DNS name with that of the file system in the FSx console, and enable DNS support in the VPC",
    )
    STORAGE_PORT = (
        "LFN48",
        "allow the port in the message between the security groups of the node and of the file system, in both "
        "directions",
    )
    STORAGE_REJECTED = (
        "LFN49",
        "compare the mount name or export path with those in the FSx console, and check that the file system is "
        "AVAILABLE",
    )
    STORAGE_CLIENT = (
        "LFN50",
        "use an AMI that has the client in the message; Mountpoint for Amazon S3 can also come from the mirror that "
        "`llm-fleet mirror` builds",
    )
    STORAGE_UNUSABLE = (
        "LFN51",
        "unmount what blocks the mount, or fix what the message names; then run the step again with `--only`",
    )
    LUSTRE_TCP = (
        "LFN52",
        "check that EFA is enabled on the file system and that every security group allows all traffic to and from "
        "itself; then stop everything that uses the file system and run the steps `mount_lustre` and `lustre_efa` "
        "again with `--only`, or replace the node",
    )
    ROOT_SQUASH = ("LFN53", "add the option no_root_squash to the NFS export of the OpenZFS volume")
    S3_MOUNT = (
        "LFN54",
        "give the node's role s3:ListBucket on the bucket and s3:GetObject on its objects (and s3:PutObject unless "
        "the mount is read-only), and check that the node can reach the bucket",
    )
    SLURM_MISSING = (
        "LFN55",
        "use the HyperPod Slurm AMI, or an image whose package repositories have Slurm 22.05 or newer",
    )
    MUNGE_KEY = (
        "LFN56",
        "mount one Lustre or OpenZFS file system in all groups: nodes without a platform share the munge key on it; "
        "on HyperPod, replace the node",
    )
    MUNGE_DOWN = (
        "LFN57",
        "read `journalctl -u munge`; /etc/munge/munge.key must belong to the user munge and have mode 0400",
    )
    SLURM_CONF_MISSING = ("LFN58", "read the cluster agent's log in /var/log/aws/clusters, and replace the controller")
    SLURM_CONF = (
        "LFN59",
        "fix the line in the message on the controller, then run `bash on_create.sh --only slurm_conf`",
    )
    AUTO_RESUME = (
        "LFN60",
        "restore TaskPlugin=task/none and SchedulerParameters=permit_job_expansion: auto-resume requires both",
    )
    TOPOLOGY = (
        "LFN61",
        "run the step `slurm_conf` on the controller again: it rewrites the topology file or removes it",
    )
    DATABASE = (
        "LFN62",
        "check the database in the message: it must be running, reachable from this node on its port, and have free "
        "disk space",
    )
    DATABASE_SECRET = (
        "LFN63",
        "give the secret the keys `username` and `password`, and the node's role secretsmanager:GetSecretValue on it",
    )
    SLURMDBD = ("LFN64", "check the lines of the slurmdbd log in the message, and the database that slurmdbd uses")
    CLUSTER_ID = (
        "LFN65",
        "give the new cluster its own database (`accounting.database`), or, if the jobs of this controller can be "
        "forgotten, remove the file `clustername` from StateSaveLocation",
    )
    SLURMCTLD = ("LFN66", "check the lines of the slurmctld log in the message; `slurmctld -Dvvv` shows more")
    CONTROLLER_UNREACHABLE = (
        "LFN67",
        "allow all traffic from each security group of the cluster to itself, inbound and outbound, and check that "
        "the controller is running",
    )
    MUNGE_REJECTED = ("LFN68", "copy the same /etc/munge/munge.key to both nodes and restart munge, then slurmd")
    MUNGE_CLOCK = (
        "LFN69",
        "synchronize the clocks (check with `chronyc tracking`): munge rejects credentials that are older than 300 s",
    )
    NODE_UNKNOWN = (
        "LFN70",
        "check that slurm.conf on the controller has a NodeName line with this host name, then run `scontrol "
        "reconfigure`",
    )
    SLURM_VERSIONS = (
        "LFN71",
        "point /opt/slurm to one version on all nodes: update the cluster software, the controller's group first",
    )
    SLURMD = ("LFN72", "check the lines of the slurmd log in the message; `slurmd -Dvvv` shows more")
    NODE_NOT_READY = ("LFN73", "fix what the reason names, then run `scontrol update nodename=<node> state=resume`")
    HEALTH_CHECK = (
        "LFN74",
        "fix what the check names; `/opt/llm-fleet/slurm/health_check.sh --report` shows whether the node is healthy",
    )
    USER_IDS = (
        "LFN75",
        "change the user's name, uid or gid in the fleet file, or use an AMI without the conflicting account; ids are "
        "never changed on a node, because files on shared storage belong to the number",
    )
    HOME_UNUSABLE = (
        "LFN76",
        "check that the file system in the message is mounted, and that no file is at the path of the home directory; "
        "then run the step again with `--only`",
    )
    SUDOERS = ("LFN77", "use an AMI that has sudo, or remove `sudo` from the users; /etc/sudoers.d is unchanged")
    ACCOUNT_FILES = (
        "LFN78",
        "end the program that holds the lock in the message, or remove the lock file if that program is not an "
        "account tool",
    )
    SLURM_ACCOUNTS = (
        "LFN79",
        "check slurmdbd (`systemctl status slurmdbd`, `sacctmgr show associations`), then run the step "
        "`slurm_accounts` again with `--only`",
    )
    SSH_BETWEEN_NODES = (
        "LFN80",
        "read the output of ssh in the message and `journalctl -u ssh -u sshd`; an AllowUsers line or a PAM rule can "
        "block users",
    )
    CONTAINER_CONFIG = (
        "LFN81",
        "fix the file in the message by hand; llm-fleet did not change it. Then run the step again with `--only`",
    )
    CONTAINER_DISK = (
        "LFN82",
        "stop the containers in the message, if any, and run the step again with `--only`; otherwise check `docker "
        "info` and the configuration files in the message",
    )
    PYXIS = (
        "LFN83",
        "check plugstack.conf and the output of `srun --help`; pyxis must be built for the installed Slurm version",
    )
    EXPORTER = (
        "LFN84",
        "read `journalctl -u` of the unit in the message; if you do not need metrics, add the step to `scripts.skip`",
    )
    PACKAGE_MISSING = (
        "LFN85",
        "use an AMI that has the package, or let nodes download it: make a mirror with `llm-fleet mirror lock` and "
        "`llm-fleet mirror build`, and name it under `downloads` in the fleet file",
    )
    NOT_PINNED = (
        "LFN86",
        "recreate the lock file with `llm-fleet mirror lock` for this system and with this package, build the mirror "
        "from it, and deploy the stack again",
    )
    DOWNLOAD_UNREACHABLE = (
        "LFN87",
        "check that the node can reach the host in the message: for a mirror in a closed network, the S3 gateway "
        "endpoint and its route; for a vendor, internet access; then run the scripts again",
    )
    DOWNLOAD_NOT_FOUND = (
        "LFN88",
        "mirror: run `llm-fleet mirror build` with the lock file of the deployed stack, which uploads the missing "
        "files; vendor: recreate the lock file, because the vendor has removed this file",
    )
    DOWNLOAD_DENIED = (
        "LFN89",
        "give the node's role s3:GetObject on the objects of the mirror and s3:ListBucket on its bucket, and "
        "kms:Decrypt on the key of the bucket if it has one",
    )
    DOWNLOAD_CHECKSUM = (
        "LFN90",
        "do not use the file: run `llm-fleet mirror check`, find out who changed it, and build the mirror again",
    )
    PACKAGES_LOCKED = (
        "LFN91",
        "find the program that installs packages at boot (unattended-upgrades, another script) and disable it in the "
        "AMI; then run the scripts again",
    )
    PACKAGES_BROKEN = (
        "LFN92",
        "read the output of the package manager above and in the log; if a dependency is missing, recreate the lock "
        "file for this image",
    )
    NEURON_DRIVER = (
        "LFN93",
        "check `dmesg` and `dkms status`; replace the node, or use an AMI whose Neuron driver matches its kernel",
    )
    ACCELERATORS = (
        "LFN94",
        "check `neuron-ls` or `nvidia-smi` and the kernel messages; reboot the node once, and if devices are still "
        "missing, replace it and send the numbers above to AWS Support",
    )
    NEURON_MISMATCH = (
        "LFN95",
        "choose a Neuron release whose runtime supports the driver of the image, or update the image with "
        "UpdateClusterSoftware; docs/node-failures/LFN95.md has the table",
    )
    NEURON_PACKAGES = (
        "LFN96",
        "set `neuron.release` to the release that the image has, or set `neuron.host` to `install` so that nodes "
        "install the release",
    )
    ACCELERATOR_SETTINGS = (
        "LFN97",
        "find the file or program of the image that sets a different value (`grep -r` in /etc/sysctl.d and "
        "/etc/security), remove the setting, and run the step again with `--only`",
    )
    EFA_DEVICES = (
        "LFN98",
        "check that the network interface type of the group is efa and that the image has the EFA driver; replace the "
        "node if interfaces are missing, or skip the step `efa_devices` in a fleet that does not use EFA",
    )
    TRAINING_STORAGE = (
        "LFN130",
        "mount one Lustre or OpenZFS file system in every group that trains, writable by root, and set "
        "`training.folder` to a folder on it",
    )
    SHARED_FULL = (
        "LFN131",
        "free space on the file system in the message, or make it larger; check old environments and checkpoints "
        "first: docs/node-failures/LFN131.md shows how to find unused ones",
    )
    TRAINING_PROGRAMS = (
        "LFN132",
        "deploy the stack again with a complete release of llm-fleet; if the folder in the message was changed by "
        "hand, remove it: the next run copies it again",
    )
    BUILD_TIMEOUT = (
        "LFN133",
        "run the scripts again after the node in the message has finished, or give the platform more time; the log of "
        "that node shows what it is doing",
    )
    BUILD_FAILED_ELSEWHERE = (
        "LFN134",
        "fix the cause in the message on the node where it happened, and run the step again with `--only`",
    )
    INTERPRETER = (
        "LFN135",
        "use an image that has the Python in the message with its venv module, or recreate the lock file for the "
        "Python of the image (`llm-fleet mirror lock --python`), and deploy the stack again",
    )
    WHEELS = (
        "LFN136",
        "read the output of pip: recreate the lock file for the system, Python and C library of this image, and "
        "deploy the stack again",
    )
    CONDA = (
        "LFN137",
        "use an image that has the program in the message, and archives that were built for its platform",
    )
    IMAGE_IMPORT = (
        "LFN138",
        "read the output of Enroot; compare the name and tag of the image with its registry, and check that the node "
        "can reach the registry",
    )
    REGISTRY = (
        "LFN139",
        "give the node's role ecr:GetAuthorizationToken, and ecr:BatchGetImage and ecr:GetDownloadUrlForLayer on the "
        "repository; the repository policy of another account must allow them too",
    )
    ENVIRONMENT = (
        "LFN140",
        "run the step `training_environment` with `--only` on a compute node of the group: it builds the environment "
        "again, next to the broken one; find out who removed files from shared storage",
    )
    TRAINING_SETTINGS = (
        "LFN141",
        "find out which other program writes the file in the message, and run the step `training_settings` with "
        "`--only`",
    )
    COMPILE_CACHE = (
        "LFN142",
        "check the folder or unit in the message (`journalctl -u llm-fleet-compile-cache`), and run the step "
        "`compile_cache` with `--only`",
    )
    LOCK_LOST = (
        "LFN143",
        "nothing to fix: another node continues the work. If it happens again, find out why the shared storage did "
        "not respond on this node",
    )
    METRICS_SERVICE = (
        "LFN150",
        "read `journalctl -u llm-fleet-metrics`, and run the step `metrics` with `--only`; jobs run without it",
    )
    METRICS_SOURCE = (
        "LFN151",
        "check the output of the program or device in the message on this node; all other values are still sent",
    )
    METRICS_REJECTED = (
        "LFN152",
        "check that the node can reach the service in the message (VPC endpoint, route table) and that its role can "
        "write to it; values of up to one hour are kept and sent later",
    )
    HOME_OWNER = (
        "LFN160",
        "restore the uid that owns the home directory: a user's ids never change. If the directory belongs to another "
        "person, give the user another login name or another `home`; nodes never change the owner of a home directory",
    )
    SLURM_LIMITS = (
        "LFN161",
        "check `sacctmgr show associations`: an administrator or another cluster of the same database also sets these "
        "limits; then run the step `slurm_accounts` again with `--only`",
    )
    LIMITS_NOT_ENFORCED = (
        "LFN162",
        "find another AccountingStorageEnforce or AccountingStorageTRES line in slurm.conf and its included files, "
        "remove it, and restart slurmctld; then run the step `slurm_accounts` again with `--only`",
    )
    DIRECTORY_SECRET = (
        "LFN163",
        "store only the password of the bind user in the secret, as text in one line, and give the node's role "
        "secretsmanager:GetSecretValue on it, and kms:Decrypt on its key",
    )
    NAME_SERVICE = (
        "LFN164",
        "use an image with SSSD and authselect (Amazon Linux, RHEL) or pam-auth-update (Ubuntu), and check that the "
        "PAM or NSS file in the message was not edited by hand",
    )
    DIRECTORY_DOWN = (
        "LFN165",
        "read `journalctl -u sssd` and /var/log/sssd: the node must reach the port of the directory, its certificate "
        "must come from the configured authority, and the bind user must be able to bind",
    )
    DIRECTORY_USER = (
        "LFN166",
        "search for the user with ldapsearch as the bind user: check the search base, the filters, and that the id is "
        "between first_id and last_id",
    )
    LOCAL_PATH = (
        "LFN167",
        "move or remove what is at the path in the message; if its file system is read-only, look for the reason in "
        "`dmesg`, run `mount -o remount,rw`, or replace the node",
    )
    DNS = (
        "LFN168",
        "enable DNS support in the VPC, allow UDP and TCP port 53 to the servers in the message, and check "
        "`resolvectl status`; Slurm waits for DNS for every name that is not in /etc/hosts",
    )
    UNEXPECTED_ERROR = ("LFN99", "this is a defect of llm-fleet: report it with the text above")

    def __init__(self, code: str, remedy: str) -> None:
        self.code = code
        self.remedy = remedy


class Failure(Exception):
    """A failure with a code, which makes the start of the node fail."""

    def __init__(self, code: Code, cause: str, *, final: bool = False) -> None:
        """Set the code and the cause, with its values.

        `final`: another attempt would fail in the same way, so none is made.
        """
        super().__init__(f"{code.code}  {cause}\n  remedy: {code.remedy}")
        self.code = code
        self.cause = cause
        self.final = final


def fail(code: Code, cause: str, *, final: bool = False) -> NoReturn:
    """Raise `Failure`. `final`: another attempt would fail in the same way."""
    raise Failure(code, cause, final=final)
