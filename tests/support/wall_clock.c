/* Adds the seconds that a file holds to the wall clock of one process.
 *
 * Loaded by LD_PRELOAD. The monotonic clock is left alone, and so are sleeps.
 * Whoever waits until a time of the wall clock waits until the real one: the
 * kernel knows nothing of the step. (libfaketime 0.9.10 fails clock_nanosleep
 * where the monotonic clock is left alone.)
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* A time that is before this is one of the monotonic clock. */
#define WALL 1000000000L

static volatile const long *ahead;

__attribute__((constructor)) static void begin(void) {
  int file = open(getenv("WALL_CLOCK_AHEAD"), O_RDONLY);
  ahead = mmap(0, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
  close(file);
}

int clock_gettime(clockid_t clock, struct timespec *at) {
  int done = syscall(SYS_clock_gettime, clock, at);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
    at->tv_sec += *ahead;
  return done;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at)
    *at = now.tv_sec;
  return now.tv_sec;
}

int timespec_get(struct timespec *at, int base) {
  clock_gettime(CLOCK_REALTIME, at);
  return base;
}

static struct timespec real(const struct timespec *until) {
  struct timespec moved = *until;
  if (moved.tv_sec > WALL)
    moved.tv_sec -= *ahead;
  return moved;
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition,
                           pthread_mutex_t *restrict lock,
                           const struct timespec *restrict until) {
  static int (*wait)(pthread_cond_t *, pthread_mutex_t *,
                     const struct timespec *);
  struct timespec moved = real(until);
  if (!wait)
    /* dlsym may find that of before glibc 2.3.2, with another condition. */
    wait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
  if (!wait)
    wait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
  return wait(condition, lock, &moved);
}

/* librdkafka waits by C11's threads, which glibc does not lead through the
 * function above. */
int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict lock,
                  const struct timespec *restrict until) {
  static int (*wait)(cnd_t *, mtx_t *, const struct timespec *);
  struct timespec moved = real(until);
  if (!wait)
    wait = dlsym(RTLD_NEXT, "cnd_timedwait");
  return wait(condition, lock, &moved);
}

int sem_timedwait(sem_t *restrict semaphore,
                  const struct timespec *restrict until) {
  static int (*wait)(sem_t *, const struct timespec *);
  struct timespec moved = real(until);
  if (!wait)
    wait = dlsym(RTLD_NEXT, "sem_timedwait");
  return wait(semaphore, &moved);
}
