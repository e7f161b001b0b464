#!/usr/bin/env bash
# What all batch files share: one reads this once its own settings are known. Nothing in here is for editing.
# shellcheck disable=SC2034,SC2154
set -uo pipefail
export LLM_FLEET_TRAINING_SH
[[ -n "${SLURM_SUBMIT_DIR:-}" ]] || SLURM_SUBMIT_DIR="${PWD}"

# Ends the job with what is wrong. $1: code, $2: cause, $3: remedy. Exit code 3: starting it again would not help.
refuse() {
  printf '%s: %s\n  remedy: %s\n' "$1" "$2" "$3" >&2
  exit 3
}

# Reads a file of settings beside the batch file. $1: its name.
read_beside() {
  local said
  [[ -r "${SLURM_SUBMIT_DIR}/$1" ]] ||
    refuse LFJ41 "${HOSTNAME} sees no $1 in ${SLURM_SUBMIT_DIR}, from where the job was submitted" \
      "submit from a copy of ${LLM_FLEET_JOBS}, whole and on storage that all nodes share"
  said="$(bash -n "${SLURM_SUBMIT_DIR}/$1" 2>&1)" ||
    refuse LFJ42 "bash cannot read $1: ${said}" "mend that line, or one before it where a quote is left open"
}

read_beside run.sh
# shellcheck source=lifecycle_scripts/jobs/run.sh
source "${SLURM_SUBMIT_DIR}/run.sh"
# shellcheck source=lifecycle_scripts/jobs/steps.sh
source "${LLM_FLEET_JOBS}/steps.sh"
# shellcheck source=lifecycle_scripts/jobs/options.sh
source "${LLM_FLEET_JOBS}/options.sh"

# Says what runs where, and makes the run's folder. $1: the stage.
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

# Takes the environment $1 in place of the nodes' own; nothing leaves that.
choose_environment() {
  local all="${LLM_FLEET_TRAINING}/environments" found
  [[ -n "$1" ]] || return 0
  # What the fleet file calls NAME may carry its version: NAME-0123456789ab. The newest of them is taken.
  # shellcheck disable=SC2012
  found="$(cd "${all}" 2>/dev/null &&
    ls -dt -- "$1" "$1.sqsh" "$1"-????????????{,.sqsh} 2>/dev/null | head -n 1)"
  [[ -n "${found}" ]] ||
    refuse LFJ47 "there is no environment '$1' in ${all}: $(ls -m "${all}" 2>&1)" \
      "write one of these, or nothing for that of the nodes"
  export LLM_FLEET_ENVIRONMENT="${all}/${found}" LLM_FLEET_ENVIRONMENT_KIND=venv
  export LLM_FLEET_PYTHON="${all}/${found}/bin/python"
  [[ ! -d "${all}/${found}/conda-meta" ]] || LLM_FLEET_ENVIRONMENT_KIND=conda
  [[ "${found}" != *.sqsh ]] || LLM_FLEET_ENVIRONMENT_KIND=container LLM_FLEET_PYTHON=python3
}

# Takes for the export the environment $1; nothing leaves what the nodes have for that, else that of the run.
choose_export_environment() {
  if [[ -n "$1" || -z "${LLM_FLEET_EXPORT_ENVIRONMENT:-}" ]]; then
    choose_environment "$1"
    return
  fi
  export LLM_FLEET_ENVIRONMENT="${LLM_FLEET_EXPORT_ENVIRONMENT}" LLM_FLEET_PYTHON="${LLM_FLEET_EXPORT_PYTHON}"
  export LLM_FLEET_ENVIRONMENT_KIND="${LLM_FLEET_EXPORT_ENVIRONMENT_KIND}"
  needs_environment
}

# Leaves a container, whose image need not have the AWS CLI, for the node, which has: for what asks of Python no package.
leave_container() {
  local python
  [[ "${LLM_FLEET_ENVIRONMENT_KIND}" == container ]] || return 0
  for python in python3 python3.{14..9}; do
    "${python}" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || continue
    export LLM_FLEET_ENVIRONMENT="" LLM_FLEET_ENVIRONMENT_KIND=none LLM_FLEET_PYTHON="${python}"
    return
  done
  refuse LFJ49 "${HOSTNAME} itself has no Python 3.9 or newer" "install one on the nodes, of the distribution's"
}

# Reads the Hub's token for a container from the cluster's secret, as the program does where there is the AWS CLI. It is
# a variable of the step, and in no command line, file or log.
take_hub_token() {
  [[ "${LLM_FLEET_ENVIRONMENT_KIND}" == container && -n "${LLM_FLEET_HUB_TOKEN_SECRET}" ]] || return 0
  [[ -z "${HF_TOKEN:-}${HUGGING_FACE_HUB_TOKEN:-}" ]] || return 0
  HF_TOKEN="$(aws secretsmanager get-secret-value --secret-id "${LLM_FLEET_HUB_TOKEN_SECRET}" \
    --region "${LLM_FLEET_REGION}" --query SecretString --output text)" ||
    refuse LFJ49 "${HOSTNAME} cannot read ${LLM_FLEET_HUB_TOKEN_SECRET}, see above why" \
      "see that the nodes have the AWS CLI, and that their role may read that secret and use its key"
  export HF_TOKEN
}

# Makes the run's folder, with a mark in it by which every node can tell that it sees the same one.
make_run_folder() {
  local said
  [[ "${RUN_FOLDER}" == /* && "${RUN_FOLDER}" != *[:,]* ]] ||
    refuse LFJ43 "RUN_FOLDER is '${RUN_FOLDER}'" "write an absolute path without colons and commas into run.sh"
  export LLM_FLEET_RUN_MARK="${RUN_FOLDER}/logs/.job-${SLURM_JOB_ID:-0}"
  export LLM_FLEET_FAILURE_FILE="${RUN_FOLDER}/logs/failure-${SLURM_JOB_ID:-0}.json"
  said="$({ mkdir -p "${RUN_FOLDER}/logs" &&
    echo "${stage}" >"${LLM_FLEET_RUN_MARK}" && rm -f "${LLM_FLEET_FAILURE_FILE}"; } 2>&1)" ||
    refuse LFJ43 "the run folder cannot be written: ${said}" "write a folder of yours on shared storage into run.sh"
  trap 'rm -f "${LLM_FLEET_RUN_MARK}"' EXIT
}

# Ends the job when an earlier stage has left nothing. $1: folder in the run's folder, $2: the stage that fills it.
needs() {
  [[ -n "$(ls -A "${RUN_FOLDER}/$1" 2>/dev/null)" ]] ||
    refuse LFJ44 "there is nothing in ${RUN_FOLDER}/$1" "run the stage before this one: sbatch $2.sbatch"
}

# Ends the job when the nodes have other accelerators. $1: neuron or gpu.
needs_accelerator() {
  [[ "${LLM_FLEET_ACCELERATOR}" == "$1" ]] ||
    refuse LFJ45 "this needs nodes with accelerator '$1', and that of ${HOSTNAME} is '${LLM_FLEET_ACCELERATOR}'" \
      "name the partition of such nodes: sbatch --partition NAME ${stage}.sbatch; or another BACKEND in run.sh"
}

# Ends the job when the nodes are not what the backend trains on, or have nothing to run it in.
needs_backend() {
  case "${BACKEND}" in
    neuron) needs_accelerator neuron ;;
    fsdp | smp) needs_accelerator gpu ;;
    cpu) ;;
    nemo-megatron) refuse LFJ46 "BACKEND is nemo-megatron" "that has its own stage: train-nemo-megatron.sbatch" ;;
    *) refuse LFJ46 "BACKEND is '${BACKEND}'" "write neuron, fsdp, smp, cpu or nemo-megatron into run.sh" ;;
  esac
  needs_environment
}

# Ends the job when there is no environment to run the program in.
needs_environment() {
  [[ "${LLM_FLEET_ENVIRONMENT_KIND}" != none ]] ||
    refuse LFJ47 "the nodes of this partition have no environment for training" \
      "name one for their group in the fleet file (training:), or submit to another: sbatch --partition NAME"
  [[ -e "${LLM_FLEET_ENVIRONMENT}" ]] ||
    refuse LFJ47 "${HOSTNAME} does not see the environment ${LLM_FLEET_ENVIRONMENT}" \
      "see in /var/log/llm-fleet/report.json how its step ended on the node"
}

# Leads to a vendor's program, as `program`. $1: its name, $2: what the settings say, $3…: where it usually is.
find_program() {
  local name="$1" place
  for place in "${@:2}" "$(command -v "${name}")"; do
    program="${place}"
    [[ -z "${place}" || ! -x "${place}" ]] || return 0
  done
  refuse LFJ49 "${HOSTNAME} has no ${name}" "install it on the nodes, or write its path into ${stage}.sbatch"
}

# Says how to reach a port of this node from elsewhere: it listens to the node itself alone. $1: the port.
port_forward() {
  echo "  open http://127.0.0.1:$1 once this runs on your machine:"
  echo "    aws ssm start-session --region ${LLM_FLEET_REGION}" \
    "--target $(python3 "${LLM_FLEET_JOBS}/session_target.py") --document-name AWS-StartPortForwardingSession" \
    "--parameters portNumber=$1,localPortNumber=$1"
}

# Says what was made, and what to submit next. $1 and $2.
made() {
  echo "$(date -u +%Y-%m-%dT%H:%M:%SZ)  ${stage} of ${RUN} is done: $1"
  [[ -z "${2:-}" ]] || echo "  next: sbatch $2"
}

# Ends the job as its step ended. $1: exit code.
failed() {
  echo "${stage} of ${RUN} ended with exit code $1, see above why" >&2
  exit "$1"
}
