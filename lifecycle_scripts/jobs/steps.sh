#!/usr/bin/env bash
# How batch files run something on their nodes, and go on after a crash. common.sh reads this.
# shellcheck disable=SC2154
signals="" step=""

# Prints what of the host a container gets to see, for Pyxis: the file systems that the run, its model and its data are
# on, whole, since links may lead anywhere on them; and what nodes tell jobs.
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

# Prints the folder of the node's AWS CLI 2: it brings its Python along, and so runs in an image that has none. Version 1
# does not.
aws_folder() {
  local place
  place="$(readlink -f -- "$(command -v aws)" 2>/dev/null)"
  [[ "${place}" != /*/v2/*/dist/aws || "${place}" == *[:,]* ]] || echo "${place%/v2/*}"
}

# Prints the variables of the fabric: an image may set some of them too, and the nodes know better.
fabric_variables() {
  sed -n 's/^export \([A-Za-z_0-9]*\)=.*/\1/p' "${LLM_FLEET_TRAINING_SH%/*}/fabric.sh" 2>/dev/null | paste -s -d,
}

# Runs launch.sh with $@, a task on each node, and returns how that ended.
on_every_node() {
  local options=(--ntasks-per-node=1)
  # HyperPod's srun replaces a node that fails and starts the step again. No other srun has this option, and no sbatch.
  [[ ! -d "${LLM_FLEET_ROOT:-}/opt/sagemaker_cluster" ]] || options+=(--auto-resume=1)
  run_step "$@"
}

# Runs launch.sh with $@ as one task on the first node, and returns how that ended.
on_one_node() {
  local options=(--nodes=1 --ntasks=1)
  run_step "$@"
}

# Has a step use the node's GPUs: of those that a job got with its whole nodes (--exclusive), a step has only what it
# asks for (srun's manual, --gres). Where Slurm does not count GPUs the variable is not set, and all see them.
all_gpus() {
  [[ ! "${SLURM_GPUS_ON_NODE:-}" =~ ^[1-9][0-9]*$ ]] || options+=(--gres="gpu:${SLURM_GPUS_ON_NODE}")
}

# All processors of a node are the task's: it is torchrun, whose processes would share the one that Slurm gives a task.
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

# Waits for srun, and returns how it ended. A signal that is trapped ends bash's `wait`, but not srun.
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

# Ends the job when another one trains in the run's folder already: each would take what the other is writing for the
# remains of a dead start, and remove it. Jobs leave a mark there, with their stage in it.
alone_in_run_folder() {
  local mark other
  for mark in "${RUN_FOLDER}"/logs/.job-*; do
    other="${mark##*/.job-}"
    [[ "${mark}" != "${LLM_FLEET_RUN_MARK}" && ! "${mark}" -nt "${LLM_FLEET_RUN_MARK}" ]] || continue
    [[ "$(cat "${mark}" 2>/dev/null)" == "${stage}" ]] || continue
    [[ -z "$(squeue --noheader --jobs="${other}" --states=RUNNING,COMPLETING --format=%i 2>/dev/null)" ]] ||
      refuse LFJ43 "job ${other} trains in ${RUN_FOLDER} at this moment" \
        "wait for it or 'scancel ${other}'; another run needs another RUN_FOLDER in run.sh"
  done
}

# Runs a training command on every node; when it fails, the job goes back into the queue, to go on from the newest
# checkpoint. Not so when the program says that no restart would mend it, when MAX_RESTARTS are used up, and when Slurm
# ends the job: by scancel, or for a lost node, after which Slurm itself puts it back.
run_with_restarts() {
  local code=0
  alone_in_run_folder
  # Slurm sends USR1 before the time limit is up: srun passes it on, and the program writes a checkpoint and ends.
  trap 'signals+=" USR1"; kill -USR1 "${step}" 2>/dev/null' USR1
  trap 'signals+=" TERM"' TERM
  on_every_node "$@" || code=$?
  [[ "${signals}" != *TERM* ]] || exit 143
  if [[ -s "${LLM_FLEET_FAILURE_FILE}" ]]; then
    echo "not started again, since that would not mend it: $(cat "${LLM_FLEET_FAILURE_FILE}")" >&2
    exit 3
  fi
  # Stopped before its time was up, the program ends well, too, but has written no result.
  [[ "${signals}" != *USR1* || "${RUN_FOLDER}/result.json" -nt "${LLM_FLEET_RUN_MARK}" ]] || code=75
  ((code == 0)) || put_back "${code}"
}

# Puts the job back into the queue. $1: how the step ended.
put_back() {
  local why="ended with exit code $1"
  [[ "${signals}" != *USR1* ]] || why="was stopped, since its time was up"
  # `[` takes numbers alone; `((` and `[[` would run what is hidden in one.
  [ "${restart}" -lt "${MAX_RESTARTS}" ] ||
    refuse LFJ48 "${stage} ${why}, after ${restart} restarts" \
      "see above why; then 'sbatch ${stage}.sbatch' goes on from the newest checkpoint. MAX_RESTARTS allows more"
  echo "${stage} ${why}: back into the queue, restart $((restart + 1)) of at most ${MAX_RESTARTS}"
  trap - TERM USR1
  scontrol requeue "${SLURM_JOB_ID}" ||
    refuse LFJ48 "${stage} ${why}, and Slurm does not take job ${SLURM_JOB_ID} back into the queue, see above" \
      "submit it again: 'sbatch ${stage}.sbatch' goes on from the newest checkpoint"
  # Slurm ends this script now. It is given the time: a script that ends by itself meanwhile tells less.
  sleep "${LLM_FLEET_REQUEUE_WAIT:-120}" &
  wait $!
  exit 1
}

# Runs a test of the fabric, $@, and leaves its average bus bandwidth in `bandwidth`. Ends the job when it fails.
measure() {
  local log="${RUN_FOLDER}/logs/${stage}-${SLURM_JOB_ID:-0}.txt"
  "$@" 2>&1 | tee "${log}" || refuse LFJ49 "the test failed, see above" "see that the nodes' EFA and drivers are well"
  bandwidth="$(sed -n 's/.*Avg bus bandwidth[^0-9]*\([0-9.]*\).*/\1/p' "${log}" | tail -n 1)"
  [[ -n "${bandwidth}" ]] || refuse LFJ49 "the test told no bandwidth, see above" "see ${log}"
  awk -v found="${bandwidth}" -v least="${LEAST_BANDWIDTH}" 'BEGIN { exit !(found + 0 >= least + 0) }' ||
    refuse LFJ49 "the nodes reach ${bandwidth} GB/s, and ${LEAST_BANDWIDTH} were asked for" \
      "see that EFA is used (FI_PROVIDER=efa), and run the test on fewer nodes to find the slow one"
}
