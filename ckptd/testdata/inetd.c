/* Has another program serve its first connection, and waits. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int count, char **arguments)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(7000), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), c, one = 1;
	if (count < 2 || listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
		bind(listener, (void *)&at, sizeof at) != 0 || listen(listener, 1) != 0 || (c = accept(listener, 0, 0)) < 0)
		abort();
	if (fork() == 0) {
		if (dup2(c, 0) != 0 || dup2(c, 1) != 1 || close(c) != 0)
			abort();
		execv(arguments[1], arguments + 1);
		abort();
	}
	close(c);
	for (;;)
		pause();
}
