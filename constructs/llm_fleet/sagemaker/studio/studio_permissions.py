"""What people may do with Studio from within it: run their own spaces and the shared ones, and nobody else's.

The statements are those for Studio of AmazonSageMakerFullAccess, narrowed to one domain: the web page acts with the
person's execution role. `${aws:SourceIdentity}` is the profile's name too, since the domain hands it on; which of the
two variables each call of the page fills is not published, and one that is not filled matches nothing.
assumption: studio-fills-policy-variables
"""

from collections.abc import Sequence

from llm_fleet.catalog.studio import studio_facts
from llm_fleet.iam.statements import Permission, Place

_WHO = ("${sagemaker:UserProfileName}", "${aws:SourceIdentity}")
_OWNER = "sagemaker:OwnerUserProfileArn"
_SHARING = "sagemaker:SpaceSharingType"


def studio_permissions(place: Place, domain_id: str, *, instance_types: Sequence[str]) -> tuple[Permission, ...]:
    """Return the statements for the domain. `instance_types`: what applications may run on; empty: anything."""
    return (
        *_log(place, domain_id),
        *_look(place, domain_id),
        *_spaces(place, domain_id),
        *_applications(place, domain_id, instance_types),
    )


def lustre_permissions() -> tuple[Permission, ...]:
    """Return what mounting FSx asks for."""
    return (
        Permission(
            sid="FileSystem",
            actions=("fsx:DescribeFileSystems",),
            resources=("*",),
            # With this role: assumption: studio-looks-up-file-systems
            reason="Studio looks the file system of a space up; the action knows no resource",
        ),
    )


def cluster_list_permissions() -> tuple[Permission, ...]:
    """Return what Studio's page of HyperPod clusters asks for, beside the grants of each cluster."""
    return (
        Permission(
            sid="ClusterList",
            actions=("sagemaker:ListClusters",),
            resources=("*",),
            reason="Studio's page of HyperPod clusters begins with the list; the action knows no resource",
        ),
    )


def _log(place: Place, domain: str) -> tuple[Permission, ...]:
    """AWS's own constructs for Studio (MDAA) give execution roles this."""
    group = place.arn("logs", f"log-group:{studio_facts().log_group}")
    return (
        Permission(
            sid="StudioLogGroup",
            actions=("logs:CreateLogGroup", "logs:DescribeLogStreams"),
            # Policies have ":*" after a group (CloudWatch Logs user guide), its service reference has not.
            resources=(group, f"{group}:*"),
            reason="the first application of an account makes the group of all; who writes looks for its stream",
        ),
        Permission(
            sid="StudioLog",
            actions=("logs:CreateLogStream", "logs:PutLogEvents"),
            resources=(f"{group}:log-stream:{domain}/*",),
            reason="applications and the lifecycle script write streams that begin with the domain's id",
        ),
    )


def _look(place: Place, domain: str) -> tuple[Permission, ...]:
    return (
        Permission(
            sid="StudioLook",
            actions=(
                "sagemaker:DescribeApp",
                "sagemaker:DescribeDomain",
                "sagemaker:DescribeSpace",
                "sagemaker:DescribeUserProfile",
                "sagemaker:ListTags",
            ),
            resources=(
                place.arn("sagemaker", f"app/{domain}/*"),
                place.arn("sagemaker", f"domain/{domain}"),
                place.arn("sagemaker", f"space/{domain}/*"),
                place.arn("sagemaker", f"user-profile/{domain}/*"),
            ),
            reason="Studio's page shows the domain, its people, spaces and applications",
        ),
        Permission(
            sid="StudioLists",
            actions=(
                "sagemaker:ListApps",
                "sagemaker:ListDomains",
                "sagemaker:ListSpaces",
                "sagemaker:ListUserProfiles",
            ),
            resources=("*",),
            reason="Studio's page lists them; the actions know no resource",
        ),
        Permission(
            sid="StudioOpen",
            actions=("sagemaker:CreatePresignedDomainUrl",),
            resources=tuple(place.arn("sagemaker", f"user-profile/{domain}/{who}") for who in _WHO),
            reason="opening an application from the page, as oneself and nobody else",
        ),
    )


def _spaces(place: Place, domain: str) -> tuple[Permission, ...]:
    return (
        Permission(
            sid="OwnSpaces",
            actions=("sagemaker:CreateSpace", "sagemaker:DeleteSpace", "sagemaker:UpdateSpace"),
            resources=(place.arn("sagemaker", f"space/{domain}/*"),),
            conditions={"ArnLike": _own(place, domain), "StringEquals": {_SHARING: ["Private", "Shared"]}},
            reason="people make, change and delete the spaces that they own; their names do not exist before",
        ),
        Permission(
            sid="SpaceTags",
            actions=("sagemaker:AddTags",),
            resources=(
                place.arn("sagemaker", f"app/{domain}/*"),
                place.arn("sagemaker", f"space/{domain}/*"),
            ),
            conditions={"StringEquals": {"sagemaker:TaggingAction": ["CreateApp", "CreateSpace"]}},
            reason="Studio puts the domain's tags on what is made in it, while it is made",
        ),
    )


def _applications(place: Place, domain: str, types: Sequence[str]) -> tuple[Permission, ...]:
    applications = (place.arn("sagemaker", f"app/{domain}/*"),)
    shared = {_SHARING: ["Shared"]}
    private = {_SHARING: ["Private"]}
    capped: dict[str, dict[str, list[str] | str]] = {}
    if types:
        # "ForAllValues" holds of a request that names no type, too: "Null" refuses that.
        capped = {
            "ForAllValues:StringEquals": {"sagemaker:InstanceTypes": list(types)},
            "Null": {"sagemaker:InstanceTypes": "false"},
        }
    cap = f"; on {', '.join(types)} alone" if types else ""
    return (
        Permission(
            sid="OwnAppsStart",
            actions=("sagemaker:CreateApp",),
            resources=applications,
            conditions={"ArnLike": _own(place, domain), "StringEquals": private, **capped},
            reason=f"people start applications in spaces of their own{cap}",
        ),
        Permission(
            sid="SharedAppsStart",
            actions=("sagemaker:CreateApp",),
            resources=applications,
            conditions={"StringEquals": shared, **capped},
            reason=f"everybody starts applications in shared spaces{cap}",
        ),
        Permission(
            sid="OwnAppsEnd",
            actions=("sagemaker:DeleteApp",),
            resources=applications,
            conditions={"ArnLike": _own(place, domain), "StringEquals": private},
            reason="people end applications in spaces of their own",
        ),
        Permission(
            sid="SharedAppsEnd",
            actions=("sagemaker:DeleteApp",),
            resources=applications,
            conditions={"StringEquals": shared},
            reason="everybody ends applications in shared spaces",
        ),
    )


def _own(place: Place, domain: str) -> dict[str, list[str]]:
    return {_OWNER: [place.arn("sagemaker", f"user-profile/{domain}/{who}") for who in _WHO]}
