#!/usr/bin/env bash
# Run by `llm-fleet jobs submit` on the cluster, as the user. Writes the batch files to a separate directory that does
# not change later, so that a job that is requeued weeks later reads its original settings. A second run with
# the same id submits no job again.
set -euo pipefail
export PATH="$PATH:/opt/slurm/bin"
umask 022
: "${run:?}" "${run_folder:?}" "${id:?}" "${files:?}" "${stages:?}"

submit() { # STAGE [OPTION ...]
  sbatch --parsable --job-name="$run-$1" --comment="llm-fleet:$id:$1" --output="$run_folder/logs/%x-%j.out" \
    "${@:2}" "$1.sbatch"
}

submitted() { # STAGE
  squeue --noheader --me --states=all --format='%i %k' |
    awk -v comment="llm-fleet:$id:$1" '$2 == comment && !found { print $1; found = 1 }'
}

folder=$run_folder/jobs/$id
mkdir -p "$run_folder/jobs" "$run_folder/logs"
if [[ ! -d $folder ]]; then
  mkdir "$folder.part.$$"
  base64 --decode <<<"$files" | tar --extract --gzip --no-same-owner --directory="$folder.part.$$"
  mv --no-target-directory "$folder.part.$$" "$folder"
fi
cd "$folder"

read -ra names <<<"$stages"
for stage in "${names[@]}"; do
  submit "$stage" --test-only >test-only.txt 2>&1 || {
    cat test-only.txt
    exit 5
  }
done
rm -f test-only.txt

ids=()
last=
for stage in "${names[@]}"; do
  # A session that was cut off is started again: jobs that it has submitted are found by their comment.
  job=$(submitted "$stage")
  if [[ -z $job ]]; then
    after=()
    [[ -z $last ]] || after=("--dependency=afterok:$last" --kill-on-invalid-dep=yes)
    job=$(submit "$stage" ${after[@]+"${after[@]}"}) || {
      [[ ${#ids[@]} -eq 0 ]] || scancel "${ids[@]}"
      exit 6
    }
    job=${job%%;*}
  fi
  ids+=("$job")
  last=$job
  echo "submitted $stage $job"
done
