#!/usr/bin/env bash
# Runs job steps on the nodes, and resumes after a crash. Sourced by common.sh.
# shellcheck disable=SC2154
signals="" step=""

# Prints the container mounts for Pyxis: the whole file systems that the run, its model and its data are on, because
# links can point anywhere on them; and the folders with the node's settings for jobs.
mounts() {
  local list="" path place
  for path in "${LLM_FLEET_TRAINING}" "${RUN_FOLDER}" "${SLURM_SUBMIT_DIR}" "${LLM_FLEET_COMPILE_CACHE}" \
    "${MODEL}" "${DATA:-}" "${NEMO_FOLDER:-}" "${NEMO_DATA:+${NEMO_DATA%/*}}"; do
    [[ "${path}" == /* && "${path}" != *[:,]* && -e "${path}" ]] || continue
    place="$(stat --format=%m -- "${path}")"
    [[ "${place}" == /?* ]] || place="${path}"
    [[ ",${list}," == *",${place}:${place},"* ]] || list+="${list:+,}${place}:${place}"
  done
  for path in /etc/llm-fleet /var/log/aws/clusters; do
    [[ ! -d "${path}" ]] || list+=",${path}:${path}"
  done
  echo "${list#,}"
}

# Prints the folder of the node's AWS CLI 2: it contains its own Python, so it also runs in an image without Python.
# Version 1 does not.
aws_folder() {
  local place
  place="$(readlink -f -- "$(command -v aws)" 2>/dev/null)"
  [[ "${place}" != /*/v2/*/dist/aws || "${place}" == *[:,]* ]] || echo "${place%/v2/*}"
}

# Prints the variables of the fabric, whose values on the node take precedence over those of an image.
fabric_variables() {
  sed -n 's/^export \([A-Za-z_0-9]*\)=.*/\1/p' "${LLM_FLEET_TRAINING_SH%/*}/fabric.sh" 2>/dev/null | paste -s -d,
}

# Runs launch.sh with $@, one task on each node, and returns its exit code.
on_every_node() {
  local options=(--ntasks-per-node=1)
  # HyperPod's srun replaces a node that fails and starts the step again. No other srun has this option, and no sbatch.
  [[ ! -d "${LLM_FLEET_ROOT:-}/opt/sagemaker_cluster" ]] || options+=(--auto-resume=1)
  run_step "$@"
}

# Runs launch.sh with $@ as one task on the first node, and returns its exit code.
on_one_node() {
  local options=(--nodes=1 --ntasks=1)
  run_step "$@"
}

# Adds --gres for the node's GPUs: a step of a job with whole nodes (--exclusive) gets only the GPUs that it requests
# (srun's manual, --gres). If Slurm does not count GPUs, the variable is not set, and all steps see them.
all_gpus() {
  [[ ! "${SLURM_GPUS_ON_NODE:-}" =~ ^[1-9][0-9]*$ ]] || options+=(--gres="gpu:${SLURM_GPUS_ON_NODE}")
}

# The task, torchrun, gets all processors of the node: its processes would share the one that Slurm gives a task.
run_step() {
  local names aws
  options+=(--export=ALL --cpu-bind=none --kill-on-bad-exit=1)
  all_gpus
  if [[ "${LLM_FLEET_ENVIRONMENT_KIND}" == container ]]; then
    aws="$(aws_folder)"
    export LLM_FLEET_AWS="${aws:+${aws}/v2/current/dist}"
    options+=(--container-image="${LLM_FLEET_ENVIRONMENT}" --container-mounts="$(mounts)${aws:+,${aws}:${aws}}")
    names="$(fabric_variables)"
    [[ -z "${names}" ]] || options+=(--container-env="${names}")
  fi
  srun "${options[@]}" bash "${LLM_FLEET_JOBS}/launch.sh" "$@" &
  step=$!
  wait_for_step
}

# Waits for srun, and returns its exit code. A trapped signal ends bash's `wait`, but not srun.
wait_for_step() {
  local before code
  until
    before="${signals}"
    wait "${step}"
    code=$?
    [[ "${signals}" == "${before}" ]]
  do :; done
  return "${code}"
}

# Ends the job if another one already trains in the run's folder: each would remove the files that the other is writing,
# as leftovers of a killed start. Each job writes a marker file there that contains its stage.
alone_in_run_folder() {
  local mark other
  for mark in "${RUN_FOLDER}"/logs/.job-*; do
    other="${mark##*/.job-}"
    [[ "${mark}" != "${LLM_FLEET_RUN_MARK}" && ! "${mark}" -nt "${LLM_FLEET_RUN_MARK}" ]] || continue
    [[ "$(cat "${mark}" 2>/dev/null)" == "${stage}" ]] || continue
    [[ -z "$(squeue --noheader --jobs="${other}" --states=RUNNING,COMPLETING --format=%i 2>/dev/null)" ]] ||
      fail LFJ43 "job ${other} is already training in ${RUN_FOLDER}" \
        "wait for it or run 'scancel ${other}'; for another run, set another RUN_FOLDER in run.sh"
  done
}

# Runs a training command on every node; if it fails, the job is requeued and resumes from the newest checkpoint. It is
# not requeued if the program reports that a restart does not help, if MAX_RESTARTS is reached, or if Slurm ends the
# job: after scancel, or after a lost node, when Slurm itself requeues it.
run_with_restarts() {
  local code=0
  alone_in_run_folder
  # Slurm sends USR1 before the time limit: srun forwards it, and the program writes a checkpoint and ends.
  trap 'signals+=" USR1"; kill -USR1 "${step}" 2>/dev/null' USR1
  trap 'signals+=" TERM"' TERM
  on_every_node "$@" || code=$?
  [[ "${signals}" != *TERM* ]] || exit 143
  if [[ -s "${LLM_FLEET_FAILURE_FILE}" ]]; then
    echo "not requeued, because a restart does not help: $(cat "${LLM_FLEET_FAILURE_FILE}")" >&2
    exit 3
  fi
  # The program also ends with 0 when the time limit stopped it, but then it has written no result.
  [[ "${signals}" != *USR1* || "${RUN_FOLDER}/result.json" -nt "${LLM_FLEET_RUN_MARK}" ]] || code=75
  ((code == 0)) || put_back "${code}"
}

# Requeues the job. $1: exit code of the step.
put_back() {
  local why="ended with exit code $1"
  [[ "${signals}" != *USR1* ]] || why="was stopped by the time limit"
  # `[` accepts only numbers; `((` and `[[` would run a command that is hidden in the value.
  [ "${restart}" -lt "${MAX_RESTARTS}" ] ||
    fail LFJ48 "${stage} ${why}, after ${restart} restarts" \
      "fix the error above; then 'sbatch ${stage}.sbatch' resumes from the newest checkpoint, or raise MAX_RESTARTS"
  echo "${stage} ${why}: requeued, restart $((restart + 1)) of at most ${MAX_RESTARTS}"
  trap - TERM USR1
  scontrol requeue "${SLURM_JOB_ID}" ||
    fail LFJ48 "${stage} ${why}, and Slurm could not requeue job ${SLURM_JOB_ID}, see above" \
      "submit it again: 'sbatch ${stage}.sbatch' resumes from the newest checkpoint"
  # Slurm ends this script now. It waits for that: a script that ends by itself first gets a less clear state.
  sleep "${LLM_FLEET_REQUEUE_WAIT:-120}" &
  wait $!
  exit 1
}

# Runs a fabric test, $@, and sets `bandwidth` to its average bus bandwidth. Ends the job if it fails.
measure() {
  local log="${RUN_FOLDER}/logs/${stage}-${SLURM_JOB_ID:-0}.txt"
  "$@" 2>&1 | tee "${log}" || fail LFJ49 "the test failed, see above" "check EFA and the drivers on the nodes"
  bandwidth="$(sed -n 's/.*Avg bus bandwidth[^0-9]*\([0-9.]*\).*/\1/p' "${log}" | tail -n 1)"
  [[ -n "${bandwidth}" ]] || fail LFJ49 "the test printed no bandwidth, see above" "read ${log}"
  awk -v found="${bandwidth}" -v least="${LEAST_BANDWIDTH}" 'BEGIN { exit !(found + 0 >= least + 0) }' ||
    fail LFJ49 "the nodes reach ${bandwidth} GB/s, but LEAST_BANDWIDTH is ${LEAST_BANDWIDTH} GB/s" \
      "check that EFA is used (FI_PROVIDER=efa), and run the test on fewer nodes to find the slow one"
}
