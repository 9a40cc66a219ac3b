/* tests/system/powercut/no_sync.c - the mutant: fdatasync says it was done and does nothing. Preloaded into the
 * controller; fsync, which directories need, goes on working, so that the log's own sync alone decides. */
int fdatasync(int fd) {
  (void)fd;
  return 0;
}
