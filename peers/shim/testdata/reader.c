/* Reads random numbers in threads and processes, and waits for a deadline, as peers do. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void draw(const char *who)
{
	uint64_t v;
	if (getrandom(&v, sizeof v, 0) != sizeof v)
		abort();
	printf("%s %016lx pid %d\n", who, v, getpid());
	fflush(stdout);
}

static void *in_thread(void *who)
{
	draw(who);
	return NULL;
}

static void child(const char *who, int depth)
{
	pid_t pid = fork();
	if (pid == 0) {
		draw(who);
		if (depth > 0)
			child("grandchild", depth - 1);
		exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* waited is for how long a wait of 50 ms has lasted by the kernel's clock, in ms. */
static long waited(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	struct timespec until, from, to;
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &from);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 50 * 1000 * 1000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&m);
	if (pthread_cond_timedwait(&c, &m, &until) != ETIMEDOUT)
		abort();
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &to);
	return (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
}

int main(void)
{
	pthread_t t;
	draw("main");
	for (int i = 0; i < 2; i++) {
		pthread_create(&t, NULL, in_thread, "thread");
		pthread_join(t, NULL);
		child("child", 1);
	}
	draw("main");
	printf("%s\n", waited() >= 49 ? "waited" : "did not wait");
	return 0;
}
