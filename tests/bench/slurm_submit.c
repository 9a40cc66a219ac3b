/* tests/bench/slurm_submit.c - the other side of submit_bench.cpp: many separate jobs through Slurm's own client
 * library. Built by slurm.py against Debian's libslurm-dev when it runs, never by our build. slurm_submit COUNT THREADS
 * SCRIPT_FILE|SCRIPT_BYTES ENVIRONMENT_BYTES WORK_DIR [hold] */
#include <pthread.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int count, threads, hold;
static size_t environment_bytes;
static char *script, *work_dir, *output;
static atomic_int next_number, accepted;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static char* read_script(const char* name) {
  char* text = calloc(1, 1 << 20);
  FILE* file = fopen(name, "r");
  if (file != NULL) {
    if (fread(text, 1, (1 << 20) - 1, file) == 0) exit(2);
    fclose(file);
    return text;
  }
  const size_t bytes = (size_t)atol(name);
  strcpy(text, "#!/bin/sh\n");
  while (strlen(text) + 60 < bytes) strcat(text, "# a line of a script that is as long as scripts are\n");
  strcat(text, "exit 0\n");
  return text;
}

static void* submit_some(void* unused) {
  (void)unused;
  char** variables = calloc(1000, sizeof(char*));
  for (int number; (number = atomic_fetch_add(&next_number, 1)) < count;) {
    job_desc_msg_t job;
    slurm_init_job_desc_msg(&job);
    size_t size = 0;
    uint32_t used = 0;
    variables[used++] = strdup("PATH=/usr/local/bin:/usr/bin:/bin");
    variables[used] = malloc(40);
    size += (size_t)sprintf(variables[used++], "BENCH_NUMBER=%d", number);
    for (int i = 0; size < environment_bytes; ++i) {
      variables[used] = malloc(120);
      size += (size_t)sprintf(variables[used++],
                              "BENCH_VARIABLE_%d=/a/value/as/long/as/values/of/variables/often/are/%d", i, i * 7919) +
              1;
    }
    job.name = "bench";
    job.script = script;
    job.work_dir = work_dir;
    job.std_in = "/dev/null";
    job.std_out = output;
    job.environment = variables;
    job.env_size = used;
    job.user_id = 0;
    job.group_id = 0;
    job.min_cpus = 1;
    if (hold) job.priority = 0;
    submit_response_msg_t* answer = NULL;
    int tries = 0;
    while (slurm_submit_batch_job(&job, &answer) != SLURM_SUCCESS)
      if (slurm_get_errno() != EAGAIN && ++tries > 20) {
        fprintf(stderr, "slurm_submit: %s\n", slurm_strerror(slurm_get_errno()));
        return NULL;
      }
    slurm_free_submit_response_response_msg(answer);
    atomic_fetch_add(&accepted, 1);
    for (uint32_t i = 0; i < used; ++i) free(variables[i]);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  hold = argc > 6;
  count = atoi(argv[1]);
  threads = atoi(argv[2]);
  script = read_script(argv[3]);
  environment_bytes = (size_t)atol(argv[4]);
  work_dir = argv[5];
  output = malloc(strlen(work_dir) + 20);
  sprintf(output, "%s/slurm-%%j.out", work_dir);
  slurm_init(NULL);
  pthread_t running[64];
  const double begin = now();
  for (int i = 0; i < threads && i < 64; ++i) pthread_create(&running[i], NULL, submit_some, NULL);
  for (int i = 0; i < threads && i < 64; ++i) pthread_join(running[i], NULL);
  const double took = now() - begin;
  printf("{\"count\": %d, \"failed\": %d, \"seconds\": %.6f, \"per_second\": %.1f}\n", accepted, count - accepted, took,
         accepted / took);
  return accepted == count ? 0 : 1;
}
