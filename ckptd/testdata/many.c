/* Has as many threads, and epoll instances that watch as many descriptors each, as it is told, and waits. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int never; /* can be read */

static void *wait_for_ever(void *unused)
{
	uint64_t n;
	while (read(never, &n, sizeof n) < 0)
		;
	return unused;
}

static void must(int right)
{
	if (!right)
		abort();
}

int main(int count, char **arguments)
{
	must(count == 4 && (never = eventfd(0, 0)) >= 0);
	int threads = atoi(arguments[1]), instances = atoi(arguments[2]), watched = atoi(arguments[3]);
	int files[256];
	must(watched <= 256);
	for (int n = 0; n < watched; n++)
		must((files[n] = eventfd(0, 0)) >= 0);
	for (; instances > 0; instances--) {
		int instance = epoll_create1(0);
		for (int n = 0; n < watched; n++)
			must(epoll_ctl(instance, EPOLL_CTL_ADD, files[n], &(struct epoll_event){.events = EPOLLIN}) == 0);
	}
	pthread_attr_t small;
	must(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 64 << 10) == 0);
	for (pthread_t thread; threads > 0; threads--)
		must(pthread_create(&thread, &small, wait_for_ever, 0) == 0);
	wait_for_ever(0);
}
