/*
 * Timers on a virtual clock: a part of nd.c. They are kept here, and the kernel's are not set.
 */

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

static struct timespec timespec_of_timeval(struct timeval t)
{
	return (struct timespec){t.tv_sec, t.tv_usec * 1000};
}

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
	to->it_interval = timeval_of(t.it_interval);
	to->it_value = timeval_of(t.it_value);
	return 0;
}

int setitimer(__itimer_which_t which, const struct itimerval *to, struct itimerval *before)
{
	if (!frozen || which != ITIMER_REAL)
		return NEXT(setitimer)(which, to, before);
	if (before)
		getitimer(which, before);
	struct itimerspec t = {
		.it_interval = timespec_of_timeval(to->it_interval),
		.it_value = timespec_of_timeval(to->it_value),
	};
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
