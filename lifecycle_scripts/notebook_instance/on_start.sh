#!/bin/bash
# Gets a notebook instance ready, as root, at each start: all outside of /home/ec2-user/SageMaker is new then. What
# fails here fails the start, and says why in the log /aws/sagemaker/NotebookInstances, <name>/LifecycleConfigOnStart.
set -euo pipefail

root="${LLM_FLEET_ROOT:-}"
home="$root/opt/llm-fleet"
settings="$root/etc/llm-fleet/notebook.json"
conda="$root/home/ec2-user/anaconda3/envs"

refuse() {
  echo "llm-fleet: $1" >&2
  exit 1
}

# Prints a Python that has boto3, for what stops the instance. It is tried, and later run, as the notebook's user.
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

# What pip itself says of the pins, in the environment that published notebooks run in.
check_pins() {
  local told pip="$conda/python3/bin/pip" constraints="$root/etc/llm-fleet/constraints.txt"
  [[ -s $constraints && -x $pip ]] || return 0
  # Not `config get`, which looks at the user's own file alone.
  told="$(runuser -u ec2-user -- "$pip" config list | grep '^install.constraint=')" || true
  [[ $told == *"$constraints"* ]] ||
    refuse "pip does not take the pins, but ${told:-none}: its environment has a configuration of its own"
}

cd "$home"
python3 -m notebook_instance.prepare || refuse "pins and configuration cannot be written"
check_pins

if grep -q '"idle_minutes":0[,}]' "$settings"; then
  echo "llm-fleet: ready; nothing stops this instance when it is idle"
  exit 0
fi
python="$(find_python)" || refuse "no Python here has boto3, which stops an idle instance: switch that off to start"
units="$root/etc/systemd/system"
timer=llm-fleet-auto-stop.timer
mkdir -p "$units"
sed "s|@PYTHON@|$python|" notebook_instance/systemd/llm-fleet-auto-stop.service >"$units/llm-fleet-auto-stop.service"
install -m 644 "notebook_instance/systemd/$timer" "$units/$timer"
systemctl daemon-reload
systemctl enable --now "$timer"
systemctl is-active --quiet "$timer" || refuse "$timer does not run"
echo "llm-fleet: ready; stopped when idle, by $python"
