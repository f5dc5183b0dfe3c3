/*
 * waiter CALL waits in a call, with a time-out of an hour if the call has one, and then prints what the
 * call returned, and how many seconds have passed on the clock. A thread or a timer may end the wait.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { HOUR = 3600 };

static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static volatile sig_atomic_t alarms;

static void on_alarm(int number)
{
	(void)number;
	alarms++;
}

static int64_t seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static struct timespec in_an_hour(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += HOUR;
	return t;
}

static int wait_in(const char *call)
{
	struct timespec hour = {HOUR, 0}, until = in_an_hour();
	struct timeval hour_too = {HOUR, 0};
	struct itimerval interval = {.it_value = hour_too}, left;
	struct itimerspec once = {.it_value = hour}, rest;
	struct epoll_event event;
	sigset_t none, alarm_only;
	uint64_t expired = 0;
	sigemptyset(&none);
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	if (!strcmp(call, "poll"))
		return poll(NULL, 0, HOUR * 1000);
	if (!strcmp(call, "ppoll"))
		return ppoll(NULL, 0, &hour, &none);
	if (!strcmp(call, "select"))
		return select(0, NULL, NULL, NULL, &hour_too) - (hour_too.tv_sec | hour_too.tv_usec);
	if (!strcmp(call, "pselect"))
		return pselect(0, NULL, NULL, NULL, &hour, NULL);
	if (!strcmp(call, "epoll_wait"))
		return epoll_wait(epoll_create1(0), &event, 1, HOUR * 1000);
	if (!strcmp(call, "epoll_pwait"))
		return epoll_pwait(epoll_create1(0), &event, 1, HOUR * 1000, &none);
	if (!strcmp(call, "epoll_pwait2"))
		return epoll_pwait2(epoll_create1(0), &event, 1, &hour, NULL);
	if (!strcmp(call, "sigtimedwait"))
		return sigtimedwait(&alarm_only, NULL, &hour) < 0 ? -errno : 0;
	if (!strcmp(call, "pthread_cond_timedwait")) {
		pthread_mutex_lock(&mutex);
		return -pthread_cond_timedwait(&condition, &mutex, &until);
	}
	if (!strcmp(call, "pthread_cond_clockwait")) {
		pthread_mutex_lock(&mutex);
		return -pthread_cond_clockwait(&condition, &mutex, CLOCK_REALTIME, &until);
	}
	if (!strcmp(call, "alarm")) {
		signal(SIGALRM, on_alarm);
		alarm(HOUR);
		return pause() < 0 ? alarms : -1;
	}
	if (!strcmp(call, "setitimer")) {
		signal(SIGALRM, on_alarm);
		setitimer(ITIMER_REAL, &interval, NULL);
		getitimer(ITIMER_REAL, &left);
		sigsuspend(&none);
		return left.it_value.tv_sec > HOUR - 2 ? alarms : -1;
	}
	if (!strcmp(call, "timerfd")) {
		int fd = timerfd_create(CLOCK_MONOTONIC, 0);
		timerfd_settime(fd, 0, &once, NULL);
		timerfd_gettime(fd, &rest);
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int ready = poll(&p, 1, -1);
		return read(fd, &expired, sizeof expired) == sizeof expired && rest.it_value.tv_sec > HOUR - 2
			       ? ready * (int)expired
			       : -1;
	}
	fprintf(stderr, "there is no %s\n", call);
	return -1;
}

int main(int argc, char **argv)
{
	int64_t before = seconds();
	int result = wait_in(argv[argc - 1]);
	printf("%d after %d s\n", result, (int)(seconds() - before));
	return 0;
}
