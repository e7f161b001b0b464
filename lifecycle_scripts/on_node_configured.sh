#!/usr/bin/env bash
# AWS ParallelCluster runs this on head, login and compute nodes once it has configured them (CustomActions,
# OnNodeConfigured), and again on head and login nodes when the cluster was updated (OnNodeUpdated). It fetches this one
# file and no other, so this file fetches the bundle, makes sure that it is the one that was published, and hands over.
# Usage: on_node_configured.sh s3://BUCKET/PREFIX SHA256_OF_SHA256SUMS GROUP [options, see llm_fleet_node/arguments.py]
#        on_node_configured.sh s3://BUCKET/ROOT/current GROUP [options]
# The second is for arguments that can never change: it takes the bundle that was published last.
set -euo pipefail
export LLM_FLEET_STARTED="${EPOCHREALTIME:-}"
export PATH="${PATH:-}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

readonly SECONDS_TO_FETCH=120
readonly POINTER=current
root="${LLM_FLEET_ROOT:-}"
folder="${root%/}/opt/llm-fleet/fetched"
signed_for="" # the region of requests, once it is known

# Says what is wrong, in the same places and shape as the bundle itself would, and ends. ParallelCluster keeps standard
# error from its logs and tells the exit code instead: so both streams get it, and the code's number is the exit code.
refuse() {
  local code="$1" cause="$2" remedy="$3" text
  local log_dir="${LLM_FLEET_LOG_DIR:-${root%/}/var/log/llm-fleet}"
  text="$(printf '%s  %s\n  remedy: %s' "${code}" "${cause}" "${remedy}")"
  printf '%s\n' "${text}" >&2
  [[ /dev/stdout -ef /dev/stderr ]] || printf '%s\n' "${text}"
  cause="$(printf '%s' "${cause}" | tr '\n\r\t"\134' ' ')"
  text="$(printf '{"schema_version": 1, "code": "%s", "cause": "%s", "remedy": "%s", "hook": "OnNodeConfigured"}' \
    "${code}" "${cause}" "${remedy}")"
  rm -f "${log_dir}/report.json" || true # an earlier run's: a full disk takes no other
  if mkdir -p "${log_dir}" && printf '%s\n' "${text}" >"${log_dir}/report.json.new"; then
    sync "${log_dir}/report.json.new"
    mv "${log_dir}/report.json.new" "${log_dir}/report.json"
  fi
  exit "$((10#${code#LFN}))"
}

# Tells whether the bundle in the folder $1 is the one whose list of checksums has the digest $2.
is_published() {
  [[ -f "$1/SHA256SUMS" ]] || return 1
  sha256sum --check --status <<<"$2  $1/SHA256SUMS" || return 1
  (cd -- "$1" && sha256sum --check --status SHA256SUMS)
}

# Makes a folder of its own for a copy from $1, in `draft`, and removes what killed runs and old bundles left: none of
# them can be of a run that is under way.
make_draft() {
  command -v aws >/dev/null || refuse LFN38 "this node has no aws command to fetch $1 with" \
    "use an AMI of ParallelCluster, which carries the AWS CLI"
  [[ -n "${signed_for}" ]] || signed_for="$(region)"
  mkdir -p "${folder}"
  find "${folder}" -mindepth 1 -maxdepth 1 \( -name '.draft.*' -mmin +60 -o -mtime +30 \) -exec rm -rf {} +
  draft="$(mktemp -d "${folder}/.draft.XXXXXX")"
}

# Prints the node's region: as ParallelCluster wrote it down, else as the metadata service has it; nothing when neither
# tells. ParallelCluster installs version 1 of the AWS CLI, which does not ask the metadata service itself, and gives the
# hook no region in its environment: without one a request is signed for the partition aws, and GovCloud and China
# refuse it.
region() {
  local line token metadata=http://169.254.169.254/latest
  while IFS= read -r line; do
    if [[ "${line}" =~ ^cfn_region=\"?([a-z0-9-]+)\"?$ ]]; then
      printf '%s\n' "${BASH_REMATCH[1]}"
      return
    fi
  done < <(cat "${root%/}/etc/parallelcluster/cfnconfig" 2>/dev/null || true)
  token="$(curl --silent --fail --max-time 5 --request PUT --header 'X-aws-ec2-metadata-token-ttl-seconds: 60' \
    "${metadata}/api/token")" || return 0
  curl --silent --fail --max-time 5 --header "X-aws-ec2-metadata-token: ${token}" \
    "${metadata}/meta-data/placement/region" || true
}

# Copies $1 to $2, with the options $3...; what went wrong is in `said`.
copy() {
  local from="$1" to="$2"
  shift 2
  said="$(timeout "${SECONDS_TO_FETCH}" aws ${signed_for:+--region "${signed_for}"} s3 cp --only-show-errors "$@" \
    "${from}" "${to}" 2>&1)"
}

# Reads the pointer $1 into `from` and `digest`. It names a bundle beside itself, or it is refused: whoever could write
# another bucket into it would have the node run another's scripts as root.
follow() {
  local pointer="$1" beside="${1%/*}" draft said line told=()
  make_draft "${pointer}"
  if ! copy "${pointer}" "${draft}/${POINTER}"; then
    rm -rf "${draft}"
    refuse LFN15 "the pointer ${pointer} cannot be fetched: ${said:-not within ${SECONDS_TO_FETCH} s}" \
      "see that the node reaches S3 and may read it; if it is not there, deploy the stack again, which writes it"
  fi
  mapfile -t told <"${draft}/${POINTER}"
  rm -rf "${draft}"
  line="${told[0]:-}"
  if ((${#told[@]} != 1)) || [[ ! "${line}" =~ ^(s3://[^ ]+)\ ([0-9a-f]{64})$ ]]; then
    refuse LFN16 "the pointer ${pointer} is not one line with a bundle and its digest: ${line:0:200}" \
      "deploy the stack again, which writes it anew; it is never written by hand"
  fi
  from="${BASH_REMATCH[1]}" digest="${BASH_REMATCH[2]}"
  if [[ ! "${from#"${beside}/"}" =~ ^[0-9a-f]{16}-[0-9a-f]{16}$ ]]; then
    refuse LFN16 "the pointer ${pointer} leads to ${from}, which is no bundle below ${beside}/" \
      "find out who may write to the bucket, and deploy the stack again: only the publisher has to"
  fi
}

# Copies $1 into the folder $2 by way of a draft beside it, so that a killed run leaves nothing half. $3: digest.
fetch() {
  local from="$1" to="$2" digest="$3" draft said
  make_draft "${from}"
  if ! copy "${from%/}/" "${draft}/" --recursive; then
    rm -rf "${draft}"
    refuse LFN38 "the bundle ${from} cannot be fetched: ${said:-not within ${SECONDS_TO_FETCH} s}" \
      "see that the node reaches S3, and that its role has s3:GetObject on the bundle and s3:ListBucket on its bucket"
  fi
  if ! is_published "${draft}" "${digest}"; then
    rm -rf "${draft}"
    refuse LFN39 "what lies at ${from} is not the bundle whose SHA256SUMS has the digest ${digest}" \
      "deploy the stack again, so that the arguments of the hook and the bundle in S3 are of one deployment"
  fi
  chmod 0755 "${draft}"
  rm -rf "${to}"
  mv -T "${draft}" "${to}"
}

if (($# >= 2)) && [[ "$1" == s3://*/*/"${POINTER}" && -n "$2" ]]; then
  follow "$1"
  group="$2"
  shift 2
elif (($# >= 3)) && [[ "$1" == s3://*/* && "$2" =~ ^[0-9a-f]{64}$ && -n "$3" ]]; then
  from="$1" digest="$2" group="$3"
  shift 3
else
  refuse LFN08 "called with: $*; wanted: s3://BUCKET/PREFIX SHA256_OF_SHA256SUMS GROUP, or s3://BUCKET/ROOT/current GROUP" \
    "leave the arguments of the custom action as the construct wrote them"
fi
bundle="${folder}/${digest}"
is_published "${bundle}" "${digest}" || fetch "${from}" "${bundle}" "${digest}"
exec bash "${bundle}/enter.sh" OnNodeConfigured --group "${group}" "$@"
