/*
 * Waits on a virtual clock, and the signal by which the checker lets time pass: a part of nd.c.
 */

enum { WAITS = 256, TIMERS = 64 };

/* Threads that wait until some time on the clock. One that finds no place here waits for input alone. */
static struct wait {
	uint32_t tid; /* 0: free */
	uint64_t until;
	bool ended;                /* it was told; if it does not go on, it left the wait, as by longjmp */
	pthread_cond_t *condition; /* that it waits on, if it does */
} waits[WAITS];

/* Timers of the process: that of alarm and setitimer is the first, the others are timerfds. */
static struct timer {
	int fd;
	uint64_t until, interval; /* 0: it is not set; it comes once */
} timers[TIMERS] = {{.fd = -1}};

/* What the last signal of the checker did to this thread. asked: the checker only wants to know how
 * long it waits. */
static __thread bool woken, alarmed, asked;

static uint64_t nanoseconds(const struct timespec *t)
{
	return t->tv_sec < 0 ? 0 : (uint64_t)t->tv_sec * SECOND + t->tv_nsec;
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){.tv_sec = ns / SECOND, .tv_nsec = ns % SECOND};
}

static struct itimerspec itimerspec_of(const struct timer *t)
{
	uint64_t left = t->until ? (t->until > now() ? t->until - now() : 1) : 0;
	return (struct itimerspec){.it_value = timespec_of(left), .it_interval = timespec_of(t->interval)};
}

/* since_start turns a point of time on the virtual clock into one of `elapsed`. */
static uint64_t since_start(const struct timespec *t)
{
	const uint64_t start = clock_start * SECOND;
	return nanoseconds(t) > start ? nanoseconds(t) - start : 0;
}

static struct wait *enter_wait(uint64_t until, pthread_cond_t *condition)
{
	if (!tid)
		tid = syscall(SYS_gettid);
	for (struct wait *w = waits; w < waits + WAITS; w++) {
		uint32_t none = 0;
		if (!__atomic_compare_exchange_n(&w->tid, &none, tid, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		w->condition = condition;
		w->ended = false;
		w->until = until;
		return w;
	}
	return NULL;
}

static void leave_wait(struct wait *w)
{
	if (!w)
		return;
	w->until = 0;
	w->condition = NULL;
	__atomic_store_n(&w->tid, 0, __ATOMIC_RELEASE);
}

static bool is_over(const struct wait *w) { return w && w->until <= now(); }

/* goes_on tells whether a wait has ended only because the checker interrupted it, and not because its
 * time had come. Then it is to begin again. */
static bool goes_on(int result, const struct wait *w)
{
	return result < 0 && errno == EINTR && woken && !alarmed && (asked || !is_over(w));
}

/* WAIT_VIRTUALLY is the result of `forever`, which waits for input, or once ns have passed on the
 * virtual clock (negative: never) that of `at_once`, which only looks. */
#define WAIT_VIRTUALLY(ns, forever, at_once)                                             \
	({                                                                               \
		int64_t most_ = (ns);                                                    \
		struct wait *wait_ = most_ >= 0 ? enter_wait(now() + most_, NULL) : NULL; \
		int result_;                                                             \
		do {                                                                     \
			woken = alarmed = asked = false;                                 \
			result_ = (forever);                                             \
		} while (goes_on(result_, wait_));                                       \
		if (result_ < 0 && errno == EINTR && woken && !alarmed)                  \
			result_ = (at_once);                                             \
		leave_wait(wait_);                                                         \
		result_;                                                                 \
	})

/* --- the signal of the checker --- */

/* WAKE is the last signal, which hardly anybody uses. shim/wake.go has the same number. */
enum { WAKE = 64 };

/* expire sets a timer to the next time at which it is due that has not come. */
static void expire(struct timer *t)
{
	if (t->interval)
		t->until += ((now() - t->until) / t->interval + 1) * t->interval;
	else
		t->until = 0;
	if (t->fd < 0) {
		alarmed = true;
		syscall(SYS_kill, getpid(), SIGALRM);
		return;
	}
	struct itimerspec soon = {.it_value.tv_nsec = 1};
	syscall(SYS_timerfd_settime, t->fd, 0, &soon, NULL);
}

/* is_closed tells whether the descriptor of a timer is that of a timer no longer. */
static bool is_closed(const struct timer *t)
{
	struct itimerspec left;
	return t->fd >= 0 && syscall(SYS_timerfd_gettime, t->fd, &left) < 0;
}

/* expire_waits ends those whose time has come. */
static void expire_waits(void)
{
	for (struct timer *t = timers; t < timers + TIMERS; t++)
		if (t->until && t->until <= now())
			expire(t);
	for (struct wait *w = waits; w < waits + WAITS; w++) {
		uint32_t who = __atomic_load_n(&w->tid, __ATOMIC_ACQUIRE);
		if (!who || w->ended || !is_over(w))
			continue;
		w->ended = true;
		if (who != tid)
			syscall(SYS_tgkill, getpid(), who, WAKE);
	}
}

/* next_wait is how many ns it is until the first wait ends, and 0 if there is none. It is 1 for a wait
 * whose time has come by readings of the clock, and that nobody has ended yet. */
static uint64_t next_wait(void)
{
	uint64_t next = 0;
	for (struct timer *t = timers; t < timers + TIMERS; t++) {
		if (t->until && is_closed(t))
			t->until = 0;
		if (t->until && (!next || t->until < next))
			next = t->until;
	}
	for (struct wait *w = waits; w < waits + WAITS; w++)
		if (__atomic_load_n(&w->tid, __ATOMIC_ACQUIRE) && !w->ended && (!next || w->until < next))
			next = w->until;
	if (!next)
		return 0;
	return next > now() ? next - now() : 1;
}

/* wake_conditions wakes this thread if it waits on a condition. Others that wait on it wake up with it,
 * which a program has to expect. They all sleep, so no lock inside the condition is held. */
static void wake_conditions(void)
{
	for (struct wait *w = waits; w < waits + WAITS; w++)
		if (__atomic_load_n(&w->tid, __ATOMIC_ACQUIRE) == tid && w->condition && is_over(w))
			pthread_cond_broadcast(w->condition);
}

/* note_next writes into the page how long the process waits. */
static void note_next(uint64_t next)
{
	if (page && (!own || own->tid != tid || own->peer != peer))
		own = claim();
	if (page && own)
		__atomic_store_n(&own->next, next, __ATOMIC_RELEASE);
}

static void on_wake(int number, siginfo_t *info, void *context)
{
	int error = errno;
	(void)number;
	(void)context;
	uint64_t passes = info->si_code == SI_QUEUE ? (uint64_t)(uintptr_t)info->si_value.sival_ptr : 0;
	woken = true;
	asked = info->si_code == SI_QUEUE && passes == 0;
	if (!tid)
		tid = syscall(SYS_gettid);
	if (passes) {
		let_pass(passes);
		expire_waits();
	}
	if (asked)
		note_next(next_wait());
	else
		wake_conditions();
	errno = error;
}

/* open_mask is the mask of a wait without the signal of the checker. */
static const sigset_t *open_mask(const sigset_t *mask, sigset_t *to)
{
	if (!mask || !frozen)
		return mask;
	*to = *mask;
	sigdelset(to, WAKE);
	return to;
}

static void forget_waits(void)
{
	memset(waits, 0, sizeof waits);
	timers[0].until = 0; /* a child inherits descriptors, and no alarm */
}

static void catch_wake(void)
{
	struct sigaction action = {.sa_sigaction = on_wake, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigset_t set;
	if (!frozen)
		return;
	sigaction(WAKE, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, WAKE);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}
