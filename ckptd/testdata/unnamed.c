/* Has shared memory of every kind, files without a name, locks and sockets that are not TCP, and answers each line "change" with what
   they hold, after it has changed and used them all. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { pages = 64, page = 4096 };

static char *anonymous, *systemv, *of_memfd, *of_file, *read_only;
static int memfd, deleted, locked, listeners[2], datagrams, messages, connected, netlink;

static void must(int right, const char *what)
{
	if (!right) {
		perror(what);
		abort();
	}
}

static char *map(int fd, int protection, int flags)
{
	char *at = mmap(0, pages * page, protection, flags, fd, 0);
	must(at != MAP_FAILED, "mmap");
	return at;
}

static void make_memory(void)
{
	anonymous = map(-1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
	int segment = shmget(1234, pages * page, IPC_CREAT | 0600);
	must(segment >= 0 && (systemv = shmat(segment, 0, 0)) != (void *)-1, "shmat");
	must((memfd = memfd_create("memory", 0)) >= 0 && ftruncate(memfd, pages * page) == 0, "memfd");
	of_memfd = map(memfd, PROT_READ | PROT_WRITE, MAP_SHARED);
	read_only = map(memfd, PROT_READ, MAP_SHARED);
	int file = open("mapped", O_RDWR | O_CREAT, 0600);
	must(file >= 0 && ftruncate(file, pages * page) == 0, "file");
	of_file = map(file, PROT_READ | PROT_WRITE, MAP_SHARED);
	must((deleted = open("deleted", O_RDWR | O_CREAT | O_APPEND, 0600)) >= 0 && unlink("deleted") == 0, "deleted");
	must(open(".", O_TMPFILE | O_RDWR, 0600) >= 0, "O_TMPFILE");
}

static void make_locks(void)
{
	must((locked = open("locked", O_RDWR | O_CREAT, 0600)) >= 0, "locked");
	struct flock part = {.l_type = F_WRLCK, .l_start = 10, .l_len = 5}, rest = {.l_type = F_RDLCK, .l_start = 100};
	must(fcntl(locked, F_SETLK, &part) == 0 && fcntl(locked, F_SETLK, &rest) == 0, "POSIX locks");
	int whole = open("flock", O_RDWR | O_CREAT, 0600), own = open("own", O_RDWR | O_CREAT, 0600);
	must(whole >= 0 && flock(whole, LOCK_EX) == 0, "flock");
	must(own >= 0 && fcntl(own, F_OFD_SETLK, &part) == 0, "lock of a description");
}

static int unix_socket(int type, const char *name, socklen_t length, int backlog)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	memcpy(at.sun_path, name, length);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	must(fd >= 0 && bind(fd, (void *)&at, offsetof(struct sockaddr_un, sun_path) + length) == 0, "bind");
	must(backlog == 0 || listen(fd, backlog) == 0, "listen");
	return fd;
}

static void make_sockets(void)
{
	listeners[0] = unix_socket(SOCK_STREAM, "listener", 9, 7);
	listeners[1] = unix_socket(SOCK_SEQPACKET, "\0abstract", 9, 5);
	messages = unix_socket(SOCK_DGRAM, "messages", 9, 0);
	must(chmod("listener", 0640) == 0, "chmod");
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(7001), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	must((datagrams = socket(AF_INET, SOCK_DGRAM, 0)) >= 0 && bind(datagrams, (void *)&at, sizeof at) == 0, "UDP");
	must((connected = socket(AF_INET, SOCK_DGRAM, 0)) >= 0 && connect(connected, (void *)&at, sizeof at) == 0, "UDP");
	struct sockaddr_nl own = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
	must((netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) >= 0 && bind(netlink, (void *)&own, sizeof own) == 0, "netlink");
}

static int use_listener(int listener)
{
	struct sockaddr_un at;
	socklen_t length = sizeof at;
	int type;
	must(getsockname(listener, (void *)&at, &length) == 0, "getsockname");
	must(getsockopt(listener, SOL_SOCKET, SO_TYPE, &type, &(socklen_t){sizeof type}) == 0, "SO_TYPE");
	int one = socket(AF_UNIX, type, 0), other;
	must(one >= 0 && connect(one, (void *)&at, length) == 0, "connect");
	must((other = accept(listener, 0, 0)) >= 0, "accept");
	char got = 0;
	must(write(one, "u", 1) == 1 && read(other, &got, 1) == 1 && got == 'u', "exchange");
	close(one);
	close(other);
	return length;
}

static int use_netlink(void)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg info;
	} ask = {{sizeof ask, RTM_GETLINK, NLM_F_REQUEST, 1, 0}, {.ifi_index = 1}};
	char answer[8192];
	must(send(netlink, &ask, sizeof ask, 0) == sizeof ask, "ask netlink");
	must(recv(netlink, answer, sizeof answer, 0) > 0, "netlink answers");
	return ((struct nlmsghdr *)answer)->nlmsg_type;
}

static int use_datagrams(void)
{
	char got[8];
	struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "messages"};
	must(sendto(messages, "m", 1, 0, (void *)&at, sizeof at) == 1 && recv(messages, got, sizeof got, 0) == 1, "message");
	must(send(connected, "datagram", 8, 0) == 8, "send");
	return recv(datagrams, got, sizeof got, 0);
}

/* touch writes to a file in a way that its times do not show. */
static int touch(int round)
{
	int fd = open("touched", O_RDWR | O_CREAT, 0600), was;
	must(fd >= 0, "touched");
	if (lseek(fd, 0, SEEK_END) == 0)
		must(ftruncate(fd, page) == 0, "ftruncate");
	int *at = mmap(0, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(at != MAP_FAILED, "mmap");
	was = *at;
	*at = round;
	must(munmap(at, page) == 0 && close(fd) == 0, "munmap");
	return was;
}

/* change writes another page each time, and takes one away. */
static void change(int round, char *answer, size_t room)
{
	char *all[] = {anonymous, systemv, of_memfd, of_file};
	int sums[4] = {0};
	for (int n = 0; n < 4; n++) {
		all[n][round % pages * page + n] = round;
		if (round % 3 == 0)
			memset(all[n] + (round - 1) % pages * page, 0, page);
		for (int at = 0; at < pages * page; at++)
			sums[n] = sums[n] * 31 + all[n][at];
	}
	must(memcmp(of_memfd, read_only, pages * page) == 0, "two views of memory");
	must(ftruncate(memfd, pages * page + round) == 0, "ftruncate");
	must(write(deleted, "line\n", 5) == 5, "write");
	int size = lseek(deleted, 0, SEEK_END), listened = 0;
	for (int n = 0; n < 2; n++)
		listened += use_listener(listeners[n]);
	snprintf(answer, room, "%d: %x %x %x %x %d %d %d %d %d %d\n", round, sums[0], sums[1], sums[2], sums[3], size,
		(int)lseek(memfd, 0, SEEK_END), listened, use_datagrams(), use_netlink(), touch(round));
}

int main(void)
{
	make_memory();
	make_locks();
	make_sockets();
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(7000), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM, 0), c;
	must(listener >= 0 && bind(listener, (void *)&at, sizeof at) == 0 && listen(listener, 1) == 0, "listen");
	must((c = accept(listener, 0, 0)) >= 0, "accept");
	char got, answer[256];
	for (int round = 1; read(c, &got, 1) == 1;)
		if (got == '\n') {
			change(round++, answer, sizeof answer);
			must(write(c, answer, strlen(answer)) == (ssize_t)strlen(answer), "answer");
		}
}
