/* Waits for a time in all ways that there are, and says how long each has taken by its clock. */
#include <pthread.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static int ends[2]; /* of a pipe that stays empty */

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void on_alarm(int number) { (void)number; }

static void must(int right)
{
	if (!right)
		abort();
}

static int in_poll(int s) { return poll(&(struct pollfd){ends[0], POLLIN, 0}, 1, s * 1000); }

static int in_ppoll(int s)
{
	sigset_t all;
	sigfillset(&all);
	return ppoll(&(struct pollfd){ends[0], POLLIN, 0}, 1, &(struct timespec){s, 0}, &all);
}

static int in_select(int s)
{
	fd_set set;
	struct timeval most = {s, 0};
	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	int n = select(ends[0] + 1, &set, NULL, NULL, &most);
	must(!FD_ISSET(ends[0], &set) && most.tv_sec == 0);
	return n;
}

static int in_pselect(int s) { return pselect(0, NULL, NULL, NULL, &(struct timespec){s, 0}, NULL); }

static int in_epoll(int s)
{
	struct epoll_event e;
	int fd = epoll_create1(0), n = epoll_wait(fd, &e, 1, s * 1000);
	close(fd);
	return n;
}

static int in_condition(int s)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += s;
	pthread_mutex_lock(&m);
	int n = pthread_cond_timedwait(&c, &m, &until); /* an error is positive */
	return n == 110 /* ETIMEDOUT */ ? 0 : -1;
}

static void *thread_in_poll(void *s)
{
	return (void *)(intptr_t)in_poll((intptr_t)s);
}

static int in_thread(int s)
{
	pthread_t t;
	void *n;
	pthread_create(&t, NULL, thread_in_poll, (void *)(intptr_t)s);
	pthread_join(t, &n);
	return (intptr_t)n;
}

static int in_alarm(int s)
{
	must(alarm(s) == 0);
	must(in_poll(1000) == -1); /* the signal interrupts it */
	return alarm(0);
}

static int in_interval(int s)
{
	struct itimerval t = {.it_value.tv_sec = 1, .it_interval.tv_sec = s - 1};
	setitimer(ITIMER_REAL, &t, NULL);
	in_poll(-1);
	in_poll(-1);
	getitimer(ITIMER_REAL, &t);
	must(t.it_interval.tv_sec == s - 1);
	return alarm(0) == (unsigned)s - 1 ? 0 : -1;
}

static int in_timerfd(int s)
{
	uint64_t times;
	struct itimerspec t = {.it_value.tv_sec = s};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	timerfd_settime(fd, 0, &t, NULL);
	timerfd_gettime(fd, &t);
	must(t.it_value.tv_sec >= s - 1);
	must(in_poll(0) == 0);
	must(read(fd, &times, sizeof times) == sizeof times && times == 1);
	close(fd);
	return 0;
}

static int in_pause(int s)
{
	must(alarm(s) == 0);
	must(pause() == -1);
	return alarm(0);
}

static int in_sigsuspend(int s)
{
	sigset_t all;
	sigfillset(&all);
	sigdelset(&all, SIGALRM);
	must(alarm(s) == 0);
	must(sigsuspend(&all) == -1);
	return alarm(0);
}

/* with all signals blocked, which may mean that of the checker, too, for all that a program knows */
static int in_sigwait(int s)
{
	sigset_t all, before;
	int number = 0;
	sigfillset(&all);
	must(sigprocmask(SIG_SETMASK, &all, &before) == 0);
	must(alarm(s / 2) == 0 && sigwait(&all, &number) == 0 && number == SIGALRM);
	must(alarm(s - s / 2) == 0 && sigwaitinfo(&all, NULL) == SIGALRM);
	return sigprocmask(SIG_SETMASK, &before, NULL);
}

static int in_sigtimedwait(int s)
{
	sigset_t one;
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	return sigtimedwait(&one, NULL, &(struct timespec){s, 0}) == -1 ? 0 : -1;
}

static int in_signalfd(int s)
{
	sigset_t all;
	sigfillset(&all);
	must(alarm(s) == 0);
	int fd = signalfd(-1, &all, 0);
	must(poll(&(struct pollfd){fd, POLLIN, 0}, 1, -1) == -1); /* SIGALRM is not blocked */
	close(fd);
	return alarm(0);
}

/* An interval that has come twice while nobody waited for it, and then a timer that is no more. */
static int in_late(int s)
{
	uint64_t times;
	struct itimerspec t = {.it_value.tv_nsec = 1000000, .it_interval.tv_nsec = 1000000};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	timerfd_settime(fd, 0, &t, NULL);
	gettimeofday(NULL, NULL);
	double began = now();
	usleep(2500);
	must(read(fd, &times, sizeof times) == sizeof times);
	must(read(fd, &times, sizeof times) == sizeof times);
	must(now() - began < 0.0035);
	close(fd);
	return in_poll(s);
}

static jmp_buf out;

static void leave(int number)
{
	(void)number;
	siglongjmp(out, 1);
}

/* Who leaves a wait by a jump waits no longer, and its time is passed to once. */
static int in_jump(int s)
{
	if (!sigsetjmp(out, 1)) {
		signal(SIGALRM, leave);
		alarm(s);
		in_poll(s + 1);
		return -1;
	}
	signal(SIGALRM, on_alarm);
	in_poll(2);
	return 0;
}

int main(void)
{
	static const struct {
		const char *name;
		int (*wait)(int);
	} all[] = {
		{"poll", in_poll}, {"ppoll", in_ppoll}, {"select", in_select}, {"pselect", in_pselect}, {"epoll", in_epoll},
		{"condition", in_condition}, {"thread", in_thread}, {"alarm", in_alarm}, {"interval", in_interval}, {"timerfd", in_timerfd},
		{"pause", in_pause}, {"sigsuspend", in_sigsuspend}, {"sigwait", in_sigwait}, {"sigtimedwait", in_sigtimedwait},
		{"signalfd", in_signalfd}, {"late", in_late}, {"jump", in_jump},
	};
	must(pipe(ends) == 0);
	signal(SIGALRM, on_alarm);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < (int)(sizeof all / sizeof *all); i++) {
		double began = now();
		int n = all[i].wait(100 + i);
		printf("%s %d: %.1f s\n", all[i].name, n, now() - began);
	}
	double began = now();
	usleep(2000);
	printf("sleep: %s\n", now() - began > 0.002 ? "long" : "short");
	in_poll(-1);
	return 0;
}
