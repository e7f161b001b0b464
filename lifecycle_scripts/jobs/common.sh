#!/usr/bin/env bash
# Code that all batch files source after their settings. Do not edit.
# shellcheck disable=SC2034,SC2154
set -uo pipefail
export LLM_FLEET_TRAINING_SH
[[ -n "${SLURM_SUBMIT_DIR:-}" ]] || SLURM_SUBMIT_DIR="${PWD}"

# Ends the job with an error. $1: code, $2: cause, $3: remedy. Exit code 3: a restart does not help.
fail() {
  printf '%s: %s\n  remedy: %s\n' "$1" "$2" "$3" >&2
  exit 3
}

# Checks a settings file in the folder of the batch file. $1: its name.
read_settings() {
  local said
  [[ -r "${SLURM_SUBMIT_DIR}/$1" ]] ||
    fail LFJ41 "${HOSTNAME} cannot read $1 in ${SLURM_SUBMIT_DIR}, the folder from which the job was submitted" \
      "submit from a complete copy of ${LLM_FLEET_JOBS}, on storage that all nodes share"
  said="$(bash -n "${SLURM_SUBMIT_DIR}/$1" 2>&1)" ||
    fail LFJ42 "bash cannot parse $1: ${said}" "fix that line, or an unclosed quote in a line before it"
}

read_settings run.sh
# shellcheck source=lifecycle_scripts/jobs/run.sh
source "${SLURM_SUBMIT_DIR}/run.sh"
# shellcheck source=lifecycle_scripts/jobs/steps.sh
source "${LLM_FLEET_JOBS}/steps.sh"
# shellcheck source=lifecycle_scripts/jobs/options.sh
source "${LLM_FLEET_JOBS}/options.sh"

# Prints the settings of the job, and makes the run's folder. $1: the stage.
begin() {
  stage="$1"
  restart="${SLURM_RESTART_COUNT:-0}"
  choose_environment "${ENVIRONMENT}"
  cat <<TEXT
$(date -u +%Y-%m-%dT%H:%M:%SZ)  ${stage} of ${RUN}
  job          ${SLURM_JOB_ID:-none}, restart ${restart}
  nodes        ${SLURM_JOB_NUM_NODES:-1}: ${SLURM_JOB_NODELIST:-${HOSTNAME}}
  cluster      ${LLM_FLEET_CLUSTER} (${LLM_FLEET_PLATFORM}) in ${LLM_FLEET_REGION}
  accelerator  ${LLM_FLEET_ACCELERATOR}, ${LLM_FLEET_PROCESSES} processes on each node
  environment  ${LLM_FLEET_ENVIRONMENT:-none} (${LLM_FLEET_ENVIRONMENT_KIND})
  program      ${LLM_FLEET_PROGRAMS##*/}
  run folder   ${RUN_FOLDER}
TEXT
  make_run_folder
}

# Uses the environment $1 instead of the nodes' own; empty: the nodes' own.
choose_environment() {
  local all="${LLM_FLEET_TRAINING}/environments" found
  [[ -n "$1" ]] || return 0
  # An environment NAME of the fleet file can have a version suffix: NAME-0123456789ab. The newest one is used.
  # shellcheck disable=SC2012
  found="$(cd "${all}" 2>/dev/null &&
    ls -dt -- "$1" "$1.sqsh" "$1"-????????????{,.sqsh} 2>/dev/null | head -n 1)"
  [[ -n "${found}" ]] ||
    fail LFJ47 "there is no environment '$1' in ${all}: $(ls -m "${all}" 2>&1)" \
      "choose one of these, or leave the setting empty to use that of the nodes"
  export LLM_FLEET_ENVIRONMENT="${all}/${found}" LLM_FLEET_ENVIRONMENT_KIND=venv
  export LLM_FLEET_PYTHON="${all}/${found}/bin/python"
  [[ ! -d "${all}/${found}/conda-meta" ]] || LLM_FLEET_ENVIRONMENT_KIND=conda
  [[ "${found}" != *.sqsh ]] || LLM_FLEET_ENVIRONMENT_KIND=container LLM_FLEET_PYTHON=python3
}

# Uses the environment $1 for the export; empty: the nodes' export environment, otherwise that of the run.
choose_export_environment() {
  if [[ -n "$1" || -z "${LLM_FLEET_EXPORT_ENVIRONMENT:-}" ]]; then
    choose_environment "$1"
    return
  fi
  export LLM_FLEET_ENVIRONMENT="${LLM_FLEET_EXPORT_ENVIRONMENT}" LLM_FLEET_PYTHON="${LLM_FLEET_EXPORT_PYTHON}"
  export LLM_FLEET_ENVIRONMENT_KIND="${LLM_FLEET_EXPORT_ENVIRONMENT_KIND}"
  needs_environment
}

# Runs on the node instead of in a container, whose image may lack the AWS CLI: for steps that need no Python package.
leave_container() {
  local python
  [[ "${LLM_FLEET_ENVIRONMENT_KIND}" == container ]] || return 0
  for python in python3 python3.{14..9}; do
    "${python}" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || continue
    export LLM_FLEET_ENVIRONMENT="" LLM_FLEET_ENVIRONMENT_KIND=none LLM_FLEET_PYTHON="${python}"
    return
  done
  fail LFJ49 "${HOSTNAME} itself has no Python 3.9 or newer" "install Python from the distribution on the nodes"
}

# Reads the Hugging Face Hub token for a container from the cluster's secret; the program does so otherwise. It
# is only a variable of the step, and not in a command line, file or log.
take_hub_token() {
  [[ "${LLM_FLEET_ENVIRONMENT_KIND}" == container && -n "${LLM_FLEET_HUB_TOKEN_SECRET}" ]] || return 0
  [[ -z "${HF_TOKEN:-}${HUGGING_FACE_HUB_TOKEN:-}" ]] || return 0
  HF_TOKEN="$(aws secretsmanager get-secret-value --secret-id "${LLM_FLEET_HUB_TOKEN_SECRET}" \
    --region "${LLM_FLEET_REGION}" --query SecretString --output text)" ||
    fail LFJ49 "${HOSTNAME} cannot read ${LLM_FLEET_HUB_TOKEN_SECRET}, see above" \
      "check that the nodes have the AWS CLI, and that their role can read this secret and decrypt with its key"
  export HF_TOKEN
}

# Makes the run's folder, with a marker file by which every node checks that it sees the same folder.
make_run_folder() {
  local said
  [[ "${RUN_FOLDER}" == /* && "${RUN_FOLDER}" != *[:,]* ]] ||
    fail LFJ43 "RUN_FOLDER is '${RUN_FOLDER}'" "set it to an absolute path without colons and commas in run.sh"
  export LLM_FLEET_RUN_MARK="${RUN_FOLDER}/logs/.job-${SLURM_JOB_ID:-0}"
  export LLM_FLEET_FAILURE_FILE="${RUN_FOLDER}/logs/failure-${SLURM_JOB_ID:-0}.json"
  said="$({ mkdir -p "${RUN_FOLDER}/logs" &&
    echo "${stage}" >"${LLM_FLEET_RUN_MARK}" && rm -f "${LLM_FLEET_FAILURE_FILE}"; } 2>&1)" ||
    fail LFJ43 "the run folder cannot be written: ${said}" \
      "set RUN_FOLDER in run.sh to a folder on shared storage that you can write to"
  trap 'rm -f "${LLM_FLEET_RUN_MARK}"' EXIT
}

# Ends the job if the output of an earlier stage is missing. $1: its folder in the run's folder, $2: the stage.
needs() {
  [[ -n "$(ls -A "${RUN_FOLDER}/$1" 2>/dev/null)" ]] ||
    fail LFJ44 "${RUN_FOLDER}/$1 is empty or missing" "run the earlier stage first: sbatch $2.sbatch"
}

# Ends the job if the nodes have other accelerators. $1: neuron or gpu.
needs_accelerator() {
  [[ "${LLM_FLEET_ACCELERATOR}" == "$1" ]] ||
    fail LFJ45 "this stage requires the accelerator '$1', but that of ${HOSTNAME} is '${LLM_FLEET_ACCELERATOR}'" \
      "choose the partition of such nodes: sbatch --partition NAME ${stage}.sbatch; or set another BACKEND in run.sh"
}

# Ends the job if the nodes do not have the backend's accelerator or an environment.
needs_backend() {
  case "${BACKEND}" in
    neuron) needs_accelerator neuron ;;
    fsdp | smp) needs_accelerator gpu ;;
    cpu) ;;
    nemo-megatron) fail LFJ46 "BACKEND is nemo-megatron" "submit its own stage: sbatch train-nemo-megatron.sbatch" ;;
    *) fail LFJ46 "BACKEND is '${BACKEND}'" "set it to neuron, fsdp, smp, cpu or nemo-megatron in run.sh" ;;
  esac
  needs_environment
}

# Ends the job if the nodes have no training environment.
needs_environment() {
  [[ "${LLM_FLEET_ENVIRONMENT_KIND}" != none ]] ||
    fail LFJ47 "the nodes of this partition have no training environment" \
      "set one for their group in the fleet file (training:), or use another partition: sbatch --partition NAME"
  [[ -e "${LLM_FLEET_ENVIRONMENT}" ]] ||
    fail LFJ47 "${HOSTNAME} does not see the environment ${LLM_FLEET_ENVIRONMENT}" \
      "check the result of its step in /var/log/llm-fleet/report.json on the node"
}

# Sets `program` to the path of a vendor's program. $1: its name, $2: the path in the settings, $3…: usual paths.
find_program() {
  local name="$1" place
  for place in "${@:2}" "$(command -v "${name}")"; do
    program="${place}"
    [[ -z "${place}" || ! -x "${place}" ]] || return 0
  done
  fail LFJ49 "${HOSTNAME} has no ${name}" "install it on the nodes, or set its path in ${stage}.sbatch"
}

# Prints how to reach a port of this node, which listens only on 127.0.0.1. $1: the port.
port_forward() {
  echo "  open http://127.0.0.1:$1 once this runs on your machine:"
  echo "    aws ssm start-session --region ${LLM_FLEET_REGION}" \
    "--target $(python3 "${LLM_FLEET_JOBS}/session_target.py") --document-name AWS-StartPortForwardingSession" \
    "--parameters portNumber=$1,localPortNumber=$1"
}

# Prints what was made ($1), and what to submit next ($2).
made() {
  echo "$(date -u +%Y-%m-%dT%H:%M:%SZ)  ${stage} of ${RUN} is done: $1"
  [[ -z "${2:-}" ]] || echo "  next: sbatch $2"
}

# Ends the job with the exit code of its step, $1.
failed() {
  echo "${stage} of ${RUN} ended with exit code $1, see above" >&2
  exit "$1"
}
