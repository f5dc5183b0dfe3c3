/*
 * Functions that wait: a part of nd.c. With a virtual clock they wait without a time-out, and note
 * when the wait would end: see WAIT_VIRTUALLY.
 */

/* limit_of is a time-out as WAIT_VIRTUALLY has it. */
static int64_t limit_of(const struct timespec *most)
{
	return most ? (int64_t)nanoseconds(most) : -1;
}

/* --- waiting for input --- */

int ppoll(struct pollfd *all, nfds_t n, const struct timespec *most, const sigset_t *mask)
{
	static const struct timespec none;
	sigset_t open;
	if (!frozen || (most && nanoseconds(most) == 0))
		return NEXT(ppoll)(all, n, most, mask);
	mask = open_mask(mask, &open);
	return WAIT_VIRTUALLY(limit_of(most), NEXT(ppoll)(all, n, NULL, mask), NEXT(ppoll)(all, n, &none, mask));
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

int __ppoll_chk(struct pollfd *all, nfds_t n, const struct timespec *most, const sigset_t *mask,
		size_t room)
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
	return WAIT_VIRTUALLY(limit_of(most), NEXT(pselect)(n, r, w, e, NULL, mask),
			      NEXT(pselect)(n, r, w, e, &none, mask));
}

int select(int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *most)
{
	if (!frozen || (most && (most->tv_sec | most->tv_usec) == 0) ||
	    (most && (most->tv_sec < 0 || most->tv_usec < 0)))
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
	return WAIT_VIRTUALLY(ms * INT64_C(1000000), NEXT(epoll_pwait)(fd, to, n, -1, mask),
			      NEXT(epoll_pwait)(fd, to, n, 0, mask));
}

int epoll_wait(int fd, struct epoll_event *to, int n, int ms)
{
	if (!frozen)
		return NEXT(epoll_wait)(fd, to, n, ms);
	return epoll_pwait(fd, to, n, ms, NULL);
}

int epoll_pwait2(int fd, struct epoll_event *to, int n, const struct timespec *most,
		 const sigset_t *mask)
{
	static const struct timespec none;
	sigset_t open;
	if (!frozen || (most && nanoseconds(most) == 0))
		return NEXT(epoll_pwait2)(fd, to, n, most, mask);
	mask = open_mask(mask, &open);
	return WAIT_VIRTUALLY(limit_of(most), NEXT(epoll_pwait2)(fd, to, n, NULL, mask),
			      NEXT(epoll_pwait2)(fd, to, n, &none, mask));
}

/* --- waiting for signals: a program can neither wait for that of the checker nor block it --- */

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
		result = WAIT_VIRTUALLY(!most ? -1 : left > 0 ? left : 0, NEXT(sigtimedwait)(set, info, NULL),
					NEXT(sigtimedwait)(set, info, &none));
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
	struct wait *w = enter_wait(until, c);
	int result = pthread_cond_wait(c, m);
	if (is_over(w))
		result = ETIMEDOUT;
	leave_wait(w);
	return result;
}

/* deadline is for calls in which the kernel waits all the same. What is left until a point of time on
 * this clock, which hardly moves, is counted from now on by the kernel's clock. */
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

int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
			   const struct timespec *until)
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

/* --- sleeping: it takes its time. After a long sleep the checker lets that time pass for all --- */

enum { SHORT_WAIT = 50000000 /* ns; ShortWait in package peers/watch */ };

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
