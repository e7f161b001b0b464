#!/usr/bin/env bash
# AWS ParallelCluster runs this on head, login and compute nodes after it has configured them (CustomActions,
# OnNodeConfigured), and again on head and login nodes after a cluster update (OnNodeUpdated). It downloads only this
# file, so this file downloads the bundle, checks that it is the published one, and runs it.
# Usage: on_node_configured.sh s3://BUCKET/PREFIX SHA256_OF_SHA256SUMS GROUP [options, see llm_fleet_node/arguments.py]
#        on_node_configured.sh s3://BUCKET/ROOT/current GROUP [options]
# The second form is for arguments that cannot change: it uses the bundle that was published last.
set -euo pipefail
export LLM_FLEET_STARTED="${EPOCHREALTIME:-}"
export PATH="${PATH:-}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

readonly SECONDS_TO_FETCH=120
readonly POINTER=current
root="${LLM_FLEET_ROOT:-}"
folder="${root%/}/opt/llm-fleet/fetched"
signed_for="" # the Region of requests, once it is known

# Reports a failure, in the same places and format as the bundle does, and exits. ParallelCluster does not log standard
# error, but reports the exit code: so both streams get the message, and the code's number is the exit code.
fail() {
  local code="$1" cause="$2" remedy="$3" text
  local log_dir="${LLM_FLEET_LOG_DIR:-${root%/}/var/log/llm-fleet}"
  text="$(printf '%s  %s\n  remedy: %s' "${code}" "${cause}" "${remedy}")"
  printf '%s\n' "${text}" >&2
  [[ /dev/stdout -ef /dev/stderr ]] || printf '%s\n' "${text}"
  cause="$(printf '%s' "${cause}" | tr '\n\r\t"\134' ' ')"
  text="$(printf '{"schema_version": 1, "code": "%s", "cause": "%s", "remedy": "%s", "hook": "OnNodeConfigured"}' \
    "${code}" "${cause}" "${remedy}")"
  rm -f "${log_dir}/report.json" || true # of an earlier run: on a full disk it could not be replaced
  if mkdir -p "${log_dir}" && printf '%s\n' "${text}" >"${log_dir}/report.json.new"; then
    sync "${log_dir}/report.json.new"
    mv "${log_dir}/report.json.new" "${log_dir}/report.json"
  fi
  exit "$((10#${code#LFN}))"
}

# Returns whether the bundle in the folder $1 is complete and its SHA256SUMS has the digest $2.
is_published() {
  [[ -f "$1/SHA256SUMS" ]] || return 1
  sha256sum --check --status <<<"$2  $1/SHA256SUMS" || return 1
  (cd -- "$1" && sha256sum --check --status SHA256SUMS)
}

# Makes a temporary folder for a copy from $1, sets `draft` to it, and removes leftovers of killed runs and old bundles,
# which are too old to belong to a running one.
make_draft() {
  command -v aws >/dev/null || fail LFN38 "this node has no aws command to fetch $1 with" \
    "use a ParallelCluster AMI, which has the AWS CLI"
  [[ -n "${signed_for}" ]] || signed_for="$(region)"
  mkdir -p "${folder}"
  find "${folder}" -mindepth 1 -maxdepth 1 \( -name '.draft.*' -mmin +60 -o -mtime +30 \) -exec rm -rf {} +
  draft="$(mktemp -d "${folder}/.draft.XXXXXX")"
}

# Prints the node's Region: from ParallelCluster's cfnconfig, otherwise from the metadata service; nothing if both fail.
# ParallelCluster installs version 1 of the AWS CLI, which does not query the metadata service, and sets no Region in
# the hook's environment: without a Region, a request is signed for the partition aws, which GovCloud and China reject.
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

# Copies $1 to $2, with the options $3...; `said` gets the error message.
copy() {
  local from="$1" to="$2"
  shift 2
  said="$(timeout "${SECONDS_TO_FETCH}" aws ${signed_for:+--region "${signed_for}"} s3 cp --only-show-errors "$@" \
    "${from}" "${to}" 2>&1)"
}

# Reads the pointer $1 into `from` and `digest`. The bundle must be in the pointer's own folder: otherwise anyone who
# can write the pointer could make the node run scripts of another bucket as root.
follow() {
  local pointer="$1" parent="${1%/*}" draft said line lines=()
  make_draft "${pointer}"
  if ! copy "${pointer}" "${draft}/${POINTER}"; then
    rm -rf "${draft}"
    fail LFN15 "the pointer ${pointer} cannot be fetched: ${said:-not within ${SECONDS_TO_FETCH} s}" \
      "check that the node can reach S3 and that its role can read it; if it is missing, deploy the stack again"
  fi
  mapfile -t lines <"${draft}/${POINTER}"
  rm -rf "${draft}"
  line="${lines[0]:-}"
  if ((${#lines[@]} != 1)) || [[ ! "${line}" =~ ^(s3://[^ ]+)\ ([0-9a-f]{64})$ ]]; then
    fail LFN16 "the pointer ${pointer} must be one line with a bundle and its digest, but is: ${line:0:200}" \
      "deploy the stack again, which rewrites the pointer; do not edit it"
  fi
  from="${BASH_REMATCH[1]}" digest="${BASH_REMATCH[2]}"
  if [[ ! "${from#"${parent}/"}" =~ ^[0-9a-f]{16}-[0-9a-f]{16}$ ]]; then
    fail LFN16 "the pointer ${pointer} names ${from}, which is not a bundle in ${parent}/" \
      "find out who can write to the bucket, and deploy the stack again: only the deployment needs write access"
  fi
}

# Copies $1 into the folder $2 through a temporary folder, so that a killed run leaves no partial copy. $3: digest.
fetch() {
  local from="$1" to="$2" digest="$3" draft said
  make_draft "${from}"
  if ! copy "${from%/}/" "${draft}/" --recursive; then
    rm -rf "${draft}"
    fail LFN38 "the bundle ${from} cannot be fetched: ${said:-not within ${SECONDS_TO_FETCH} s}" \
      "check that the node can reach S3, and that its role has s3:GetObject and s3:ListBucket on the bucket"
  fi
  if ! is_published "${draft}" "${digest}"; then
    rm -rf "${draft}"
    fail LFN39 "the bundle at ${from} has no SHA256SUMS with the digest ${digest}, or its files do not match it" \
      "deploy the stack again, so that the arguments of the hook and the bundle in S3 come from the same deployment"
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
  fail LFN08 "called with $*; usage: s3://BUCKET/PREFIX SHA256_OF_SHA256SUMS GROUP; or s3://BUCKET/ROOT/current GROUP" \
    "use the arguments of the custom action that the construct wrote"
fi
bundle="${folder}/${digest}"
is_published "${bundle}" "${digest}" || fetch "${from}" "${bundle}" "${digest}"
exec bash "${bundle}/enter.sh" OnNodeConfigured --group "${group}" "$@"
