// A server whose second thread waits for a semaphore, with a time-out that is far away, until the first one, which waits
// in poll, gets a "w". Whatever else it gets it answers by itself.
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static sem_t asked;
static int client = -1;

static void *answer(void *unused)
{
	for (;;) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += 3600;
		if (sem_timedwait(&asked, &until) != 0)
			dprintf(1, "the semaphore: %s\n", strerror(errno));
		else
			dprintf(client, "done\n");
	}
	return unused;
}

int main(void)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(7000), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	pthread_t thread;
	bind(listener, (void *)&address, sizeof address);
	listen(listener, 5);
	sem_init(&asked, 0, 0);
	pthread_create(&thread, NULL, answer, NULL);
	for (;;) {
		struct pollfd waits[2] = {{listener, POLLIN, 0}, {client, POLLIN, 0}};
		char c;
		if (poll(waits, 2, 3600 * 1000) <= 0)
			dprintf(1, "poll: %s\n", strerror(errno));
		else if (waits[0].revents)
			client = accept(listener, NULL, NULL);
		else if (read(client, &c, 1) != 1)
			return 0;
		else if (c == 'w')
			sem_post(&asked);
		else
			dprintf(client, "%c\n", c);
	}
}
