#!/usr/bin/env bash
# AWS ParallelCluster runs this on head, login and compute nodes once it has configured them (CustomActions,
# OnNodeConfigured; on the head node OnNodeUpdated too). It fetches this one file and no other, so this file fetches
# the bundle, makes sure that it is the one that was published, and hands over to it.
# Usage: on_node_configured.sh s3://BUCKET/PREFIX SHA256_OF_SHA256SUMS GROUP [options, see llm_fleet_node/arguments.py]
set -euo pipefail
export LLM_FLEET_STARTED="${EPOCHREALTIME:-}"
export PATH="${PATH:-}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

readonly SECONDS_TO_FETCH=120
root="${LLM_FLEET_ROOT:-}"
folder="${root%/}/opt/llm-fleet/fetched"

# Says what is wrong, in the same places and shape as the bundle itself would, and ends.
refuse() {
  local code="$1" cause="$2" remedy="$3" text
  local log_dir="${LLM_FLEET_LOG_DIR:-${root%/}/var/log/llm-fleet}"
  printf '%s  %s\n  remedy: %s\n' "${code}" "${cause}" "${remedy}" >&2
  cause="$(printf '%s' "${cause}" | tr '\n\r\t"\134' ' ')"
  text="$(printf '{"schema_version": 1, "code": "%s", "cause": "%s", "remedy": "%s", "hook": "OnNodeConfigured"}' \
    "${code}" "${cause}" "${remedy}")"
  if mkdir -p "${log_dir}" && printf '%s\n' "${text}" >"${log_dir}/report.json.new"; then
    sync "${log_dir}/report.json.new"
    mv "${log_dir}/report.json.new" "${log_dir}/report.json"
  fi
  exit 1
}

# Tells whether the bundle in the folder $1 is the one whose list of checksums has the digest $2.
is_published() {
  [[ -f "$1/SHA256SUMS" ]] || return 1
  sha256sum --check --status <<<"$2  $1/SHA256SUMS" || return 1
  (cd -- "$1" && sha256sum --check --status SHA256SUMS)
}

# Copies $1 into the folder $2 by way of a draft beside it, so that a killed run leaves nothing half. $3: digest.
fetch() {
  local from="$1" to="$2" digest="$3" draft said
  command -v aws >/dev/null || refuse LFN38 "this node has no aws command to fetch ${from} with" \
    "use an AMI of ParallelCluster, which carries the AWS CLI"
  mkdir -p "${folder}"
  # What killed runs left, and bundles of long ago: none of them can be of a run that is under way.
  find "${folder}" -mindepth 1 -maxdepth 1 \( -name '.draft.*' -mmin +60 -o -mtime +30 \) -exec rm -rf {} +
  draft="$(mktemp -d "${folder}/.draft.XXXXXX")"
  chmod 0755 "${draft}"
  if ! said="$(timeout "${SECONDS_TO_FETCH}" aws s3 cp --recursive --only-show-errors "${from%/}/" "${draft}/" 2>&1)"; then
    rm -rf "${draft}"
    refuse LFN38 "the bundle ${from} cannot be fetched: ${said:-not within ${SECONDS_TO_FETCH} s}" \
      "see that the node reaches S3, and that its role has s3:GetObject on the bundle and s3:ListBucket on its bucket"
  fi
  if ! is_published "${draft}" "${digest}"; then
    rm -rf "${draft}"
    refuse LFN39 "what lies at ${from} is not the bundle whose SHA256SUMS has the digest ${digest}" \
      "deploy the stack again, so that the arguments of the hook and the bundle in S3 are of one deployment"
  fi
  rm -rf "${to}"
  mv -T "${draft}" "${to}"
}

if (($# < 3)) || [[ "$1" != s3://*/* || ! "$2" =~ ^[0-9a-f]{64}$ || -z "$3" ]]; then
  refuse LFN08 "called with: $*; wanted: s3://BUCKET/PREFIX SHA256_OF_SHA256SUMS GROUP" \
    "leave the arguments of the custom action as the construct wrote them"
fi
from="$1" digest="$2" group="$3"
shift 3
bundle="${folder}/${digest}"
is_published "${bundle}" "${digest}" || fetch "${from}" "${bundle}" "${digest}"
exec bash "${bundle}/enter.sh" OnNodeConfigured --group "${group}" "$@"
