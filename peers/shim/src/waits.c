/*
 * What waits for a time, with a virtual clock: a part of nd.c, after clock.c.
 */

/* NEXT is the function that this library stands before. */
#define NEXT(name)                                                                       \
	({                                                                               \
		static __typeof__(&name) real;                                           \
		if (!real)                                                               \
			real = (__typeof__(&name))dlsym(RTLD_NEXT, #name);               \
		real;                                                                    \
	})

enum { WAITS = 256, TIMERS = 64 };

/* Threads that wait until some time on the clock. Who finds no place waits for input alone. */
static struct wait {
	uint32_t tid; /* 0: free */
	uint64_t until;
	bool ended; /* it has been told; who does not go on then has left the wait, by longjmp for instance */
	pthread_cond_t *condition; /* that it waits on, if it does */
} waits[WAITS];

/* Timers of the process: that of alarm and setitimer is the first, the others are timerfds. */
static struct timer {
	int fd;
	uint64_t until, interval; /* 0: it is not set; it comes once */
} timers[TIMERS] = {{.fd = -1}};

/* What the last signal of the checker has done to this thread; asked: it only wants to know how long it waits. */
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

static struct wait *begin_wait(uint64_t until, pthread_cond_t *condition)
{
	if (!tid)
		tid = syscall(SYS_gettid);
	for (struct wait *w = waits; w < waits + WAITS; w++) {
		uint32_t none = 0;
		if (!__atomic_compare_exchange_n(&w->tid, &none, tid, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		w->condition = condition;
		w->ended = false;
		w->until = until;
		return w;
	}
	return NULL;
}

static void end_wait(struct wait *w)
{
	if (!w)
		return;
	w->until = 0;
	w->condition = NULL;
	__atomic_store_n(&w->tid, 0, __ATOMIC_RELEASE);
}

static bool is_over(const struct wait *w) { return w && w->until <= now(); }

/* goes_on tells whether a wait has ended with an interruption that only the checker has made, and not
 * because its time had come, and so is to be begun again. */
static bool goes_on(int result, const struct wait *w)
{
	return result < 0 && errno == EINTR && woken && !alarmed && (asked || !is_over(w));
}

/* WAIT_VIRTUALLY is the result of `forever`, which waits for input, or once ns have passed on the
 * virtual clock (negative: never) that of `at_once`, which only looks. */
#define WAIT_VIRTUALLY(ns, forever, at_once)                                             \
	({                                                                               \
		int64_t most_ = (ns);                                                    \
		struct wait *wait_ = most_ >= 0 ? begin_wait(now() + most_, NULL) : NULL; \
		int result_;                                                             \
		do {                                                                     \
			woken = alarmed = asked = false;                                 \
			result_ = (forever);                                             \
		} while (goes_on(result_, wait_));                                       \
		if (result_ < 0 && errno == EINTR && woken && !alarmed)                  \
			result_ = (at_once);                                             \
		end_wait(wait_);                                                         \
		result_;                                                                 \
	})

/* --- the signal of the checker --- */

/* WAKE is the last signal, which hardly anybody uses. peers/clock.go knows its number. */
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

/* end_waits ends those whose time has come. */
static void end_waits(void)
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

/* next_wait is how many ns it is until the first wait ends, 0 if there is none; 1 for one whose time has come by
 * readings of the clock, and that nobody has ended yet. */
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

/* wake_conditions wakes this thread if it waits on a condition, and with it, which a program has to
 * expect, others who wait on it. They all sleep, so that no lock within it is held. */
static void wake_conditions(void)
{
	for (struct wait *w = waits; w < waits + WAITS; w++)
		if (__atomic_load_n(&w->tid, __ATOMIC_ACQUIRE) == tid && w->condition && is_over(w))
			pthread_cond_broadcast(w->condition);
}

/* tell writes into the page how long the process waits. */
static void tell(uint64_t next)
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
		end_waits();
	}
	if (asked)
		tell(next_wait());
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

static void begin_waits(void)
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

/* --- waiting for input --- */

int ppoll(struct pollfd *all, nfds_t n, const struct timespec *most, const sigset_t *mask)
{
	static const struct timespec none;
	sigset_t open;
	if (!frozen || (most && nanoseconds(most) == 0))
		return NEXT(ppoll)(all, n, most, mask);
	mask = open_mask(mask, &open);
	return WAIT_VIRTUALLY(most ? (int64_t)nanoseconds(most) : -1, NEXT(ppoll)(all, n, NULL, mask), NEXT(ppoll)(all, n, &none, mask));
}

/* By ppoll: where CRIU has saved a process it interrupts poll, and not ppoll. */
int poll(struct pollfd *all, nfds_t n, int ms)
{
	if (!frozen || ms == 0)
		return NEXT(poll)(all, n, ms);
	struct timespec most = timespec_of(ms * INT64_C(1000000));
	return ppoll(all, n, ms < 0 ? NULL : &most, NULL);
}

/* What a compiler makes of the two where it checks the size of objects. */
int __poll_chk(struct pollfd *all, nfds_t n, int ms, size_t room)
{
	if (room / sizeof *all < n)
		abort();
	return poll(all, n, ms);
}

int __ppoll_chk(struct pollfd *all, nfds_t n, const struct timespec *most, const sigset_t *mask, size_t room)
{
	if (room / sizeof *all < n)
		abort();
	return ppoll(all, n, most, mask);
}

int pselect(int n, fd_set *r, fd_set *w, fd_set *e, const struct timespec *most, const sigset_t *mask)
{
	static const struct timespec none;
	sigset_t open;
	if (!frozen || (most && nanoseconds(most) == 0))
		return NEXT(pselect)(n, r, w, e, most, mask);
	mask = open_mask(mask, &open);
	return WAIT_VIRTUALLY(most ? (int64_t)nanoseconds(most) : -1, NEXT(pselect)(n, r, w, e, NULL, mask), NEXT(pselect)(n, r, w, e, &none, mask));
}

int select(int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *most)
{
	if (!frozen || (most && (most->tv_sec | most->tv_usec) == 0) || (most && (most->tv_sec < 0 || most->tv_usec < 0)))
		return NEXT(select)(n, r, w, e, most);
	if (!most)
		return pselect(n, r, w, e, NULL, NULL);
	struct timespec t = {most->tv_sec, most->tv_usec * 1000};
	uint64_t until = now() + nanoseconds(&t);
	int result = pselect(n, r, w, e, &t, NULL);
	uint64_t left = until > now() ? until - now() : 0; /* which Linux tells */
	*most = (struct timeval){left / SECOND, left % SECOND / 1000};
	return result;
}

int epoll_pwait(int fd, struct epoll_event *to, int n, int ms, const sigset_t *mask)
{
	sigset_t open;
	if (!frozen || ms == 0)
		return NEXT(epoll_pwait)(fd, to, n, ms, mask);
	mask = open_mask(mask, &open);
	return WAIT_VIRTUALLY(ms * INT64_C(1000000), NEXT(epoll_pwait)(fd, to, n, -1, mask), NEXT(epoll_pwait)(fd, to, n, 0, mask));
}

int epoll_wait(int fd, struct epoll_event *to, int n, int ms)
{
	if (!frozen)
		return NEXT(epoll_wait)(fd, to, n, ms);
	return epoll_pwait(fd, to, n, ms, NULL);
}

int epoll_pwait2(int fd, struct epoll_event *to, int n, const struct timespec *most, const sigset_t *mask)
{
	static const struct timespec none;
	sigset_t open;
	if (!frozen || (most && nanoseconds(most) == 0))
		return NEXT(epoll_pwait2)(fd, to, n, most, mask);
	mask = open_mask(mask, &open);
	return WAIT_VIRTUALLY(most ? (int64_t)nanoseconds(most) : -1, NEXT(epoll_pwait2)(fd, to, n, NULL, mask), NEXT(epoll_pwait2)(fd, to, n, &none, mask));
}

/* --- waiting for signals: that of the checker is none that a program can wait for, or block --- */

int pause(void)
{
	return frozen ? WAIT_VIRTUALLY(-1, NEXT(pause)(), -1) : NEXT(pause)();
}

int sigsuspend(const sigset_t *mask)
{
	sigset_t open;
	mask = open_mask(mask, &open);
	return frozen ? WAIT_VIRTUALLY(-1, NEXT(sigsuspend)(mask), -1) : NEXT(sigsuspend)(mask);
}

int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *most)
{
	static const struct timespec none;
	sigset_t open;
	set = open_mask(set, &open);
	if (!frozen || (most && nanoseconds(most) == 0))
		return NEXT(sigtimedwait)(set, info, most);
	int64_t until = most ? (int64_t)(now() + nanoseconds(most)) : -1, left;
	int result;
	do {
		left = until - (int64_t)now();
		result = WAIT_VIRTUALLY(!most ? -1 : left > 0 ? left : 0, NEXT(sigtimedwait)(set, info, NULL), NEXT(sigtimedwait)(set, info, &none));
	} while (result < 0 && errno == EINTR && alarmed && sigismember(set, SIGALRM)); /* it is there now */
	return result;
}

int sigwaitinfo(const sigset_t *set, siginfo_t *info) { return sigtimedwait(set, info, NULL); }

int sigwait(const sigset_t *set, int *number)
{
	sigset_t open;
	return NEXT(sigwait)(open_mask(set, &open), number);
}

int signalfd(int fd, const sigset_t *set, int flags)
{
	sigset_t open;
	return NEXT(signalfd)(fd, open_mask(set, &open), flags);
}

int sigprocmask(int how, const sigset_t *set, sigset_t *before)
{
	sigset_t open;
	return NEXT(sigprocmask)(how, how == SIG_UNBLOCK ? set : open_mask(set, &open), before);
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
	sigset_t open;
	return NEXT(pthread_sigmask)(how, how == SIG_UNBLOCK ? set : open_mask(set, &open), before);
}

/* --- waiting for other threads --- */

static int wait_on_condition(pthread_cond_t *c, pthread_mutex_t *m, uint64_t until)
{
	if (until <= now())
		return ETIMEDOUT;
	struct wait *w = begin_wait(until, c);
	int result = pthread_cond_wait(c, m);
	if (is_over(w))
		result = ETIMEDOUT;
	end_wait(w);
	return result;
}

/* Where the kernel waits all the same, what is left until the deadline by this clock, which hardly moves, is
 * taken from now on by the kernel's. */
static struct timespec deadline(const struct timespec *until)
{
	struct timespec by_ours, t;
	virtual_time(&by_ours);
	kernel_time(CLOCK_MONOTONIC, &t);
	t.tv_sec += until->tv_sec - by_ours.tv_sec;
	t.tv_nsec += until->tv_nsec - by_ours.tv_nsec;
	for (; t.tv_nsec < 0; t.tv_nsec += SECOND)
		t.tv_sec--;
	for (; t.tv_nsec >= SECOND; t.tv_nsec -= SECOND)
		t.tv_sec++;
	if (t.tv_sec < 0)
		t = (struct timespec){0};
	return t;
}

int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *until)
{
	if (frozen)
		return wait_on_condition(c, m, since_start(until));
	if (!own_clock)
		return NEXT(pthread_cond_clockwait)(c, m, clock, until);
	struct timespec t = deadline(until);
	return NEXT(pthread_cond_clockwait)(c, m, CLOCK_MONOTONIC, &t);
}

int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
	if (!own_clock)
		return NEXT(pthread_cond_timedwait)(c, m, until);
	return pthread_cond_clockwait(c, m, CLOCK_REALTIME, until);
}

int sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until)
{
	if (!own_clock)
		return NEXT(sem_clockwait)(s, clock, until);
	struct timespec t = deadline(until);
	return NEXT(sem_clockwait)(s, CLOCK_MONOTONIC, &t);
}

int sem_timedwait(sem_t *s, const struct timespec *until)
{
	if (!own_clock)
		return NEXT(sem_timedwait)(s, until);
	return sem_clockwait(s, CLOCK_REALTIME, until);
}

int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
	if (!own_clock)
		return NEXT(pthread_mutex_timedlock)(m, until);
	struct timespec t = deadline(until);
	return pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &t);
}

/* --- sleeping, which takes its time. The checker waits for who sleeps long, and lets that time pass for all --- */

enum { SHORT_WAIT = 50000000 /* ns: ShortWait in peers/timers.go */ };

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *left)
{
	if (!frozen)
		return NEXT(clock_nanosleep)(clock, flags, t, left);
	uint64_t ns = nanoseconds(t);
	if (flags & TIMER_ABSTIME)
		ns = since_start(t) > now() ? since_start(t) - now() : 0;
	struct timespec length = timespec_of(ns), rest = {0};
	int error;
	do {
		woken = alarmed = false;
		error = NEXT(clock_nanosleep)(CLOCK_MONOTONIC, 0, &length, &rest);
		length = rest;
	} while (error == EINTR && woken && !alarmed);
	if (ns <= SHORT_WAIT)
		let_pass(error == EINTR ? ns - nanoseconds(&rest) : ns);
	if (error == EINTR && left && !(flags & TIMER_ABSTIME))
		*left = rest;
	return error;
}

int nanosleep(const struct timespec *t, struct timespec *left)
{
	int error = clock_nanosleep(CLOCK_REALTIME, 0, t, left);
	if (!error)
		return 0;
	errno = error;
	return -1;
}

int usleep(useconds_t us)
{
	struct timespec t = timespec_of((uint64_t)us * 1000);
	return nanosleep(&t, NULL);
}

unsigned sleep(unsigned s)
{
	struct timespec t = {.tv_sec = s}, left = {0};
	return nanosleep(&t, &left) < 0 ? left.tv_sec + (left.tv_nsec > 0) : 0;
}

/* --- timers --- */

static void set_timer(struct timer *t, const struct itimerspec *to, bool absolute)
{
	uint64_t value = nanoseconds(&to->it_value);
	t->interval = nanoseconds(&to->it_interval);
	t->until = 0;
	if (value)
		t->until = absolute ? since_start(&to->it_value) : now() + value;
	if (value && !t->until)
		t->until = 1; /* long past */
}

static struct timespec timespec_of_timeval(struct timeval t) { return (struct timespec){t.tv_sec, t.tv_usec * 1000}; }

/* Remaining times are rounded up: 0 would say that the timer is not set. */
static struct timeval timeval_of(struct timespec t)
{
	uint64_t us = (nanoseconds(&t) + 999) / 1000;
	return (struct timeval){us / 1000000, us % 1000000};
}

int getitimer(__itimer_which_t which, struct itimerval *to)
{
	if (!frozen || which != ITIMER_REAL)
		return NEXT(getitimer)(which, to);
	struct itimerspec t = itimerspec_of(&timers[0]);
	*to = (struct itimerval){.it_interval = timeval_of(t.it_interval), .it_value = timeval_of(t.it_value)};
	return 0;
}

int setitimer(__itimer_which_t which, const struct itimerval *to, struct itimerval *before)
{
	if (!frozen || which != ITIMER_REAL)
		return NEXT(setitimer)(which, to, before);
	if (before)
		getitimer(which, before);
	struct itimerspec t = {.it_interval = timespec_of_timeval(to->it_interval), .it_value = timespec_of_timeval(to->it_value)};
	set_timer(&timers[0], &t, false);
	return 0;
}

unsigned alarm(unsigned s)
{
	struct itimerval to = {.it_value.tv_sec = s}, before;
	setitimer(ITIMER_REAL, &to, &before);
	return before.it_value.tv_sec + (before.it_value.tv_usec > 0);
}

/* timer_of finds the timer of a descriptor, or with `make` a free one; NULL if there is none. */
static struct timer *timer_of(int fd, bool make)
{
	for (struct timer *t = timers + 1; t < timers + TIMERS; t++)
		if (t->fd == fd && t->until)
			return t;
	for (struct timer *t = timers + 1; make && t < timers + TIMERS; t++)
		if (!t->until) {
			t->fd = fd;
			return t;
		}
	return NULL;
}

int timerfd_gettime(int fd, struct itimerspec *to)
{
	struct timer *t = frozen ? timer_of(fd, false) : NULL;
	if (!t)
		return NEXT(timerfd_gettime)(fd, to);
	*to = itimerspec_of(t);
	return 0;
}

/* The kernel is asked to stop the timer all the same: it says whether the descriptor is one, and
 * forgets that it has expired. */
int timerfd_settime(int fd, int flags, const struct itimerspec *to, struct itimerspec *before)
{
	static const struct itimerspec never;
	struct timer *t = frozen ? timer_of(fd, true) : NULL;
	if (!t)
		return NEXT(timerfd_settime)(fd, flags, to, before);
	if (NEXT(timerfd_settime)(fd, 0, &never, NULL) < 0)
		return -1;
	if (before)
		*before = itimerspec_of(t);
	set_timer(t, to, flags & TFD_TIMER_ABSTIME);
	return 0;
}
