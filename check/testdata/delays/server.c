/*
 * Answers each line "wMS TEXT" with TEXT, MS milliseconds after it has come, in a thread for each connection. How it waits
 * is w: poll, select, epoll, nanosleep, a timerfd in epoll or read, a condition, or a loop that looks
 * every 10 ms. It never answers one that begins with x.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static void by_condition(long ms)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += ms * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	pthread_mutex_lock(&m);
	while (pthread_cond_timedwait(&c, &m, &t) == 0)
		;
	pthread_mutex_unlock(&m);
}

static void by_timerfd(long ms, int in_epoll)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	struct itimerspec t = {.it_value = {ms / 1000, ms % 1000 * 1000000 + 1}};
	uint64_t times;
	timerfd_settime(fd, 0, &t, NULL);
	if (in_epoll) {
		int e = epoll_create1(EPOLL_CLOEXEC);
		struct epoll_event event = {.events = EPOLLIN};
		epoll_ctl(e, EPOLL_CTL_ADD, fd, &event);
		epoll_wait(e, &event, 1, -1);
		close(e);
	}
	if (read(fd, &times, sizeof times) < 0)
		abort();
	close(fd);
}

static void wait_for(char how, long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};
	struct timeval v = {ms / 1000, ms % 1000 * 1000};
	struct epoll_event event;
	int e;
	switch (how) {
	case 'p':
		poll(NULL, 0, ms);
		break;
	case 's':
		select(0, NULL, NULL, NULL, &v);
		break;
	case 'e':
		e = epoll_create1(EPOLL_CLOEXEC);
		epoll_wait(e, &event, 1, ms);
		close(e);
		break;
	case 'n':
		nanosleep(&t, NULL);
		break;
	case 't':
	case 'r':
		by_timerfd(ms, how == 't');
		break;
	case 'c':
		by_condition(ms);
		break;
	case 'l':
		for (; ms > 0; ms -= 10)
			poll(NULL, 0, 10);
		break;
	}
}

static void *serve(void *p)
{
	FILE *in = fdopen((int)(intptr_t)p, "r+");
	char line[256];
	while (fgets(line, sizeof line, in)) {
		char *text = strchr(line, ' ');
		if (!text || line[0] == 'x')
			continue;
		wait_for(line[0], strtol(line + 1, NULL, 10));
		if (write(fileno(in), text + 1, strlen(text + 1)) < 0)
			break;
	}
	fclose(in);
	return NULL;
}

int main(void)
{
	int one = 1, l = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(7000), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(l, (struct sockaddr *)&a, sizeof a) < 0 || listen(l, 16) < 0)
		return 1;
	for (;;) {
		pthread_t t;
		int c = accept(l, NULL, NULL);
		if (c >= 0 && pthread_create(&t, NULL, serve, (void *)(intptr_t)c) == 0)
			pthread_detach(t);
	}
}
