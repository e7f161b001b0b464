#!/usr/bin/env bash
# slurmd runs this as root after a job's last step on this node: it removes the shared memory that the job left behind.
# NCCL and the Neuron runtime use /dev/shm, and memory that a killed job left there is missing for the next one.
# Nothing is removed while the user still has a process here, of another job or a session.
set -euo pipefail

readonly first_user=1000 # lower ids are system accounts
readonly root="${LLM_FLEET_ROOT:-}"
uid="${SLURM_JOB_UID:-}"

if [[ ! "${uid}" =~ ^[0-9]+$ ]] || ((uid < first_user)); then
  exit 0
fi
if [[ -n "$(find "${root}/proc" -maxdepth 1 -name '[0-9]*' -user "${uid}" -print -quit)" ]]; then
  exit 0
fi
find "${root}/dev/shm" -mindepth 1 -xdev -user "${uid}" -delete
