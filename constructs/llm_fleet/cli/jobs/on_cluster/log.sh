#!/usr/bin/env bash
# Run by `llm-fleet jobs logs` on the cluster, as the user: prints the last lines of a job's log, or all lines from a
# given line until the job has ended. Exit code 4: no log.
set -uo pipefail
export PATH="$PATH:/opt/slurm/bin"
: "${run:?}" "${run_folder:?}" "${stage:?}" "${job-}" "${lines:?}" "${follow:?}" "${pause:?}"

if [[ -n $job ]]; then
  found=("$run_folder/logs/"*"-$job.out")
else
  found=("$run_folder/logs/$run-$stage-"*".out")
fi
[[ -e ${found[0]} ]] || exit 4
log=${found[0]}
for other in "${found[@]}"; do
  [[ ! $other -nt $log ]] || log=$other
done

if [[ $follow == no ]]; then
  echo "$log"
  tail --lines="$lines" "$log"
  exit
fi

[[ -n $job ]] || job=$(sed -E 's/.*-([0-9]+)\.out$/\1/' <<<"$log")
tail --lines="+$lines" --follow=name --retry "$log" 2>/dev/null &
tail=$!
while [[ -n $(squeue --noheader --jobs="$job" --states=PENDING,RUNNING,CONFIGURING,COMPLETING,SUSPENDED,REQUEUED \
  --format=%T 2>/dev/null) ]]; do
  sleep "$pause"
done
sleep "$pause"
kill "$tail"
wait "$tail" 2>/dev/null
ended=$(sacct --noheader --parsable2 --allocations --jobs="$job" --format=State,ExitCode 2>/dev/null | tail --lines=1)
echo "job $job has ended${ended:+: $ended}"
