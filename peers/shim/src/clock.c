/*
 * The clocks of a process: a part of nd.c. Where the checker chooses the behaviour of the peer, or
 * wants its clock to be virtual, time is made here. It advances by a step with every reading.
 *
 * A virtual clock also governs time-outs. A call that waits for input with a time-out waits without
 * one, and notes when the wait would end. A sleep takes as long as it says, and the clock shows it.
 * Otherwise time passes when the checker says so. It sends a signal to the first thread of every
 * process while all are at rest; the value of the signal is a number of nanoseconds. The thread
 * moves the clock, wakes those whose time has come, and notes when the next wait ends.
 *
 * These stay on the machine's clock: POSIX timers, time-outs of sockets (SO_RCVTIMEO), mutexes and
 * semaphores.
 */
static bool own_clock; /* readings are made here */
static bool frozen;    /* time-outs, too */

static bool count_time(enum source what)
{
	count(what);
	return own_clock;
}

enum { CLOCK_STEP = 1000 /* ns */, SECOND = 1000000000 };

static uint64_t clock_start; /* of the virtual clock, in seconds of Unix time: see load */

static uint64_t elapsed; /* ns on this process's clock */

static uint64_t now(void) { return __atomic_load_n(&elapsed, __ATOMIC_RELAXED); }

static void let_pass(uint64_t ns) { __atomic_add_fetch(&elapsed, ns, __ATOMIC_RELAXED); }

static void virtual_time(struct timespec *t)
{
	uint64_t ns = __atomic_add_fetch(&elapsed, CLOCK_STEP, __ATOMIC_RELAXED);
	t->tv_sec = clock_start + ns / SECOND;
	t->tv_nsec = ns % SECOND;
}

static int (*real_clock_gettime)(clockid_t, struct timespec *); /* found by load */

static int kernel_time(clockid_t clock, struct timespec *t)
{
	if (real_clock_gettime)
		return real_clock_gettime(clock, t);
	return syscall(SYS_clock_gettime, clock, t);
}

/* Clocks that only tell durations differ from run to run, too. But peers read them all the time, and
 * hardly any lets it show. They are made here where values are made, but not counted. */
static bool tells_time(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	if (tells_time(clock) ? !count_time(CLOCK_GETTIME) : !own_clock)
		return kernel_time(clock, t);
	virtual_time(t);
	return 0;
}

time_t time(time_t *to)
{
	struct timespec t;
	if (count_time(TIME))
		virtual_time(&t);
	else
		kernel_time(CLOCK_REALTIME_COARSE, &t);
	if (to)
		*to = t.tv_sec;
	return t.tv_sec;
}

int gettimeofday(struct timeval *to, void *zone)
{
	struct timespec t;
	if (count_time(GETTIMEOFDAY))
		virtual_time(&t);
	else
		kernel_time(CLOCK_REALTIME, &t);
	__asm__("" : "+r"(to)); /* the declaration says that it is not null, but the kernel allows it */
	if (to)
		*to = (struct timeval){t.tv_sec, t.tv_nsec / 1000};
	if (zone)
		memset(zone, 0, sizeof(struct timezone));
	return 0;
}

int timespec_get(struct timespec *t, int base)
{
	if (base != TIME_UTC)
		return 0;
	clock_gettime(CLOCK_REALTIME, t);
	return base;
}

clock_t clock(void)
{
	struct timespec t = {0};
	if (!own_clock)
		kernel_time(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

clock_t times(struct tms *to)
{
	if (!own_clock)
		return syscall(SYS_times, to);
	if (to)
		memset(to, 0, sizeof *to);
	return 1;
}

