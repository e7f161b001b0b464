#!/bin/bash
# Prepares a notebook instance, as root, at each start: everything outside of /home/ec2-user/SageMaker is new then. An
# error here fails the start; it is in the log /aws/sagemaker/NotebookInstances, <name>/LifecycleConfigOnStart.
set -euo pipefail

root="${LLM_FLEET_ROOT:-}"
home="$root/opt/llm-fleet"
settings="$root/etc/llm-fleet/notebook.json"
conda="$root/home/ec2-user/anaconda3/envs"

fail() {
  echo "llm-fleet: $1" >&2
  exit 1
}

# Prints a Python that has boto3, for the program that stops the instance. It runs as the notebook's user.
find_python() {
  local python
  for python in "$conda"/{JupyterSystemEnv,python3}/bin/python3 /usr/bin/python3; do
    if [[ -x $python ]] && runuser -u ec2-user -- "$python" -c 'import boto3' 2>/dev/null; then
      echo "$python"
      return
    fi
  done
  return 1
}

# Checks with pip that the pins are used, in the environment that the published notebooks run in.
check_pins() {
  local found pip="$conda/python3/bin/pip" constraints="$root/etc/llm-fleet/constraints.txt"
  [[ -s $constraints && -x $pip ]] || return 0
  # Not `config get`, which reads only the user's own file.
  found="$(runuser -u ec2-user -- "$pip" config list | grep '^install.constraint=')" || true
  [[ $found == *"$constraints"* ]] ||
    fail "pip does not use the pins, but ${found:-none}: its environment has its own configuration"
}

cd "$home"
python3 -m notebook_instance.prepare || fail "pins and configuration cannot be written"
check_pins

if grep -q '"idle_minutes":0[,}]' "$settings"; then
  echo "llm-fleet: ready; the instance is not stopped when it is idle"
  exit 0
fi
python="$(find_python)" || fail "no Python here has boto3, which stopping an idle instance requires"
units="$root/etc/systemd/system"
timer=llm-fleet-auto-stop.timer
mkdir -p "$units"
sed "s|@PYTHON@|$python|" notebook_instance/systemd/llm-fleet-auto-stop.service >"$units/llm-fleet-auto-stop.service"
install -m 644 "notebook_instance/systemd/$timer" "$units/$timer"
systemctl daemon-reload
systemctl enable --now "$timer"
systemctl is-active --quiet "$timer" || fail "$timer does not run"
echo "llm-fleet: ready; the instance is stopped when idle, by $python"
