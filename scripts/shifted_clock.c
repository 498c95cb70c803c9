//===- shifted_clock.c - Programs that see another date -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library for LD_PRELOAD that shifts the clock of the date by as many seconds
// as BLOCKSCALE_CLOCK_SHIFT says, for scripts/long/environments.sh. The clocks
// by which programs wait go on as they are; libfaketime shifts them, too, and
// Python's waits then fail or never end.
//
//===----------------------------------------------------------------------===//

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static time_t getShift(void) {
  const char *shift = getenv("BLOCKSCALE_CLOCK_SHIFT");
  return shift ? atol(shift) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real)
    real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT,
                                                        "clock_gettime");
  int status = real(clock, now);
  if (!status && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    now->tv_sec += getShift();
  return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec time;
  (void)zone;
  int status = clock_gettime(CLOCK_REALTIME, &time);
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1000;
  return status;
}

time_t time(time_t *now) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  if (now)
    *now = time.tv_sec;
  return time.tv_sec;
}

/// A date that a program waits for, on the clock of the system. Times since the
/// start of the system are less.
static struct timespec toSystem(const struct timespec *date) {
  struct timespec result = *date;
  if (result.tv_sec > 1000000000)
    result.tv_sec -= getShift();
  return result;
}

int sem_timedwait(sem_t *restrict semaphore,
                  const struct timespec *restrict date) {
  static int (*real)(sem_t *, const struct timespec *);
  if (!real)
    real = (int (*)(sem_t *, const struct timespec *))dlsym(RTLD_NEXT,
                                                            "sem_timedwait");
  struct timespec system = toSystem(date);
  return real(semaphore, &system);
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition,
                           pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict date) {
  static int (*real)(pthread_cond_t *, pthread_mutex_t *,
                     const struct timespec *);
  if (!real)
    real = (int (*)(pthread_cond_t *, pthread_mutex_t *,
                    const struct timespec *))dlsym(RTLD_NEXT,
                                                   "pthread_cond_timedwait");
  struct timespec system = toSystem(date);
  return real(condition, mutex, &system);
}
