#!/usr/bin/env bash
# Runs on each node of a job by srun, in the container if there is one.
# Usage: launch.sh [compile] torchrun VERB OPTIONS…  the training program, LLM_FLEET_PROCESSES processes on each node
#        launch.sh [compile] nemo OPTIONS…           neuronx-nemo-megatron, as many processes
#        launch.sh python VERB OPTIONS…              the training program, one process
#        launch.sh program NAME ARGUMENTS…           another program
set -uo pipefail

# Before the time limit every process here gets USR1. Only the training processes handle it.
trap '' USR1

fail() {
  printf '%s: %s\n  remedy: %s\n' "$1" "$2" "$3" >&2
  exit 3
}

# Prints the first node of a list as Slurm writes it, e.g. ip-10-1-0-[4-6,9]. A container has no scontrol.
first_host() {
  local list="$1" hosts
  if hosts="$(scontrol show hostnames "${list}" 2>/dev/null)" && [[ -n "${hosts}" ]]; then
    echo "${hosts%%$'\n'*}"
  elif [[ "${list}" =~ ^([^][,]*)\[([0-9]+)[^]]*\]([^][,]*) ]]; then
    echo "${BASH_REMATCH[1]}${BASH_REMATCH[2]}${BASH_REMATCH[3]}"
  else
    echo "${list%%,*}"
  fi
}

# Puts the environment's programs first in PATH.
enter_environment() {
  case "${LLM_FLEET_ENVIRONMENT_KIND}" in
    venv) export VIRTUAL_ENV="${LLM_FLEET_ENVIRONMENT}" ;;
    conda) export CONDA_PREFIX="${LLM_FLEET_ENVIRONMENT}" ;;
    container) # The node's AWS CLI, for an image that has none: last, so that the image's own wins.
      export PATH="${PATH}${LLM_FLEET_AWS:+:${LLM_FLEET_AWS}}"
      return
      ;;
    *) return ;;
  esac
  [[ -x "${LLM_FLEET_PYTHON}" ]] ||
    fail LFJ47 "${HOSTNAME} does not see ${LLM_FLEET_PYTHON}" \
      "check the result of the step training_environment in /var/log/llm-fleet/report.json on this node"
  export PATH="${LLM_FLEET_ENVIRONMENT}/bin:${PATH}"
}

# Without accelerators the processes of a node share its processors; with them, one is enough for each.
share_processors() {
  local each=1
  [[ "${LLM_FLEET_ACCELERATOR}" != none ]] || each="$(($(nproc) / LLM_FLEET_PROCESSES))"
  export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$((each > 0 ? each : 1))}"
}

# Sets `torchrun`. The node list is that of this step: it changes when HyperPod replaces a node. Port 44000 is reserved
# on the nodes.
find_torchrun() {
  torchrun=(
    "${LLM_FLEET_PYTHON}" -m torch.distributed.run --nnodes "${SLURM_STEP_NUM_NODES:-${SLURM_JOB_NUM_NODES:-1}}"
    --nproc_per_node "${LLM_FLEET_PROCESSES}" --node_rank "${SLURM_PROCID:-0}"
    --master_addr "$(first_host "${SLURM_STEP_NODELIST:-${SLURM_JOB_NODELIST:-127.0.0.1}}")" --master_port 44000
  )
}

[[ -e "${LLM_FLEET_RUN_MARK}" ]] ||
  fail LFJ43 "${HOSTNAME} does not see the run folder ${LLM_FLEET_RUN_MARK%/logs/*}, or another of that name" \
    "set RUN_FOLDER in run.sh to a folder on storage that all nodes share"
enter_environment
export PYTHONPATH="${LLM_FLEET_PROGRAMS}${PYTHONPATH:+:${PYTHONPATH}}"
[[ -z "${LLM_FLEET_COMPILE_CACHE}" ]] ||
  export NEURON_COMPILE_CACHE_URL="${NEURON_COMPILE_CACHE_URL-${LLM_FLEET_COMPILE_CACHE}}"

first=()
if [[ "$1" == compile ]]; then
  command -v neuron_parallel_compile >/dev/null ||
    fail LFJ49 "${HOSTNAME} has no neuron_parallel_compile in ${LLM_FLEET_ENVIRONMENT:-its path}" \
      "set ENVIRONMENT in run.sh to an environment with torch-neuronx"
  first=(neuron_parallel_compile)
  shift
fi
kind="$1"
shift
[[ "${kind}" != torchrun ]] || share_processors
find_torchrun
case "${kind}" in
  torchrun) exec "${first[@]}" "${torchrun[@]}" --module llm_fleet_training "$@" ;;
  nemo) cd "${NEMO_FOLDER}" && exec "${first[@]}" "${torchrun[@]}" megatron_gpt_pretraining.py "$@" ;;
  python) exec "${LLM_FLEET_PYTHON}" -m llm_fleet_training "$@" ;;
  program) exec "$@" ;;
esac
