/*
 * nd.so is preloaded into every process of a peer. It stands in for the functions of the C library
 * by which the process reads what differs from run to run: the time and random numbers. It counts
 * their calls in memory that it shares with the checker. Where the behaviour of the peer is chosen it
 * also makes the values. Random numbers then follow from a seed, and the clock advances by a step
 * with every reading.
 *
 * The counters are a file that all processes map. It is no part of a checkpoint. All that makes values
 * is in private memory, so it goes back with the process.
 *
 *   counters.c   the counters
 *   random.c     random numbers
 *   clock.c      the clock, and what reads it
 *   wake.c       waits on a virtual clock, and the signal by which the checker lets time pass
 *   waits.c      functions that wait
 *   timers.c     timers
 *   files.c      files that tell of the machine, or are random numbers
 *   processes.c  processes, threads, programs, limits
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#ifdef SOURCE
/* The hash of all sources, by which the checker knows whether the library is up to date. */
__attribute__((used)) static const char source_hash[] = SOURCE;
#endif

static uint32_t peer;        /* number of the peer that this process belongs to */
static bool chosen;          /* values are made here */
static const char *settings; /* entries of the environment, for programs that this one executes */
static const char *preload;

/* NEXT is the function that this library stands before. */
#define NEXT(name)                                                                       \
	({                                                                               \
		static __typeof__(&name) real;                                           \
		if (!real)                                                               \
			real = (__typeof__(&name))dlsym(RTLD_NEXT, #name);               \
		real;                                                                    \
	})

#include "counters.c"
#include "random.c"
#include "clock.c"
#include "wake.c"
#include "waits.c"
#include "timers.c"
#include "files.c"
#include "processes.c"

/* load begins when the library is loaded. It reads TANDEM_ND, which is "FILE PEER CLOCK START" or "FILE
 * PEER CLOCK START SEED". With a seed the values are made, and not only counted. FILE has the counters.
 * CLOCK is machine or virtual. START is when a clock that is made here starts, in seconds of Unix time.
 *
 * A program that a process executes does not continue the stream or the clock of the process. It begins
 * with the seed, like the first program of the peer, mixed with its process ID. */
__attribute__((constructor)) static void load(void)
{
	static char settings_text[256];
	const char *s = getenv("TANDEM_ND"), *l = getenv("LD_PRELOAD");
	char file[128], clock[16];
	unsigned number;
	unsigned long long start, seed;
	real_clock_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	if (!s || !l || strlen(s) > 200)
		return;
	int fields = sscanf(s, "%127s %u %15s %llu %llu", file, &number, clock, &start, &seed);
	if (fields < 4)
		return;
	peer = number;
	frozen = !strcmp(clock, "virtual");
	clock_start = start;
	if (fields == 5) {
		chosen = true;
		stream.key = mix(seed ^ mix((uint64_t)getpid() << 32 | number));
	}
	own_clock = chosen || frozen;
	catch_wake();
	int fd = syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	void *at = mmap(NULL, sizeof(struct counters), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	char *preload_text;
	if (at == MAP_FAILED || asprintf(&preload_text, "LD_PRELOAD=%s", l) < 0)
		return;
	page = at;
	snprintf(settings_text, sizeof settings_text, "TANDEM_ND=%s", s);
	settings = settings_text;
	preload = preload_text;
	pthread_atfork(before_fork, NULL, after_fork);
}
