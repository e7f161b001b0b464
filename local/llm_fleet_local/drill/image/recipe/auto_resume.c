// name: srun --auto-resume
// path: /opt/slurm/lib/drill/auto_resume.so
// plays: the option of HyperPod's SPANK plugin: srun accepts --auto-resume, sbatch and salloc reject it as on HyperPod
// refuses: values other than 0 and 1, and the option of sbatch or salloc
// cannot: check a node's health, replace a node in a job's allocation, or restart a step: here a job continues because Slurm requeues it
// Source: assumption hyperpod-auto-resume
//
// Registered only in srun and in the step that it starts: if every program had the option, `sbatch --auto-resume=1`
// would be accepted, which HyperPod rejects (observed by users; the plugin itself is not public).

#include <slurm/spank.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

SPANK_PLUGIN(auto_resume, 1)

// Adds a line to the record of calls to stand-ins, as record.sh does.
static void record(const char *value) {
  char host[65] = "", path[160];
  struct timeval now;
  gethostname(host, sizeof host - 1);
  gettimeofday(&now, NULL);
  if (geteuid() == 0) {
    snprintf(path, sizeof path, "/srv/drill/calls/%s.jsonl", host);
  } else {
    snprintf(path, sizeof path, "/srv/drill/calls/%s.%u.jsonl", host, (unsigned)geteuid());
  }
  FILE *file = fopen(path, "a");
  if (file == NULL) {
    return;
  }
  fprintf(file, "{\"at\": %ld.%06ld, \"name\": \"srun --auto-resume\", \"arguments\": [\"--auto-resume=%s\"]}\n",
          (long)now.tv_sec, (long)now.tv_usec, value);
  fclose(file);
}

static int take(int value, const char *argument, int is_remote) {
  if (argument == NULL || (strcmp(argument, "0") != 0 && strcmp(argument, "1") != 0)) {
    slurm_error("--auto-resume takes 0 or 1");
    return -1;
  }
  if (!is_remote) {
    record(argument);
  }
  return 0;
}

static struct spank_option option = {"auto-resume", "0|1", "[HyperPod] go on after a node was replaced", 1, 0, take};

int slurm_spank_init(spank_t spank, int count, char **arguments) {
  spank_context_t where = spank_context();
  if (where != S_CTX_LOCAL && where != S_CTX_REMOTE) {
    return 0;
  }
  return spank_option_register(spank, &option);
}
