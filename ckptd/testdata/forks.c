/* Has processes as servers have them: a worker in a session of its own, whose memory, signals, directory and threads are not those of its
   parent, with a child, and helpers that come and go. It answers each line "change" with what they have computed. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { page = 4096, pages = 32 };

static char *inherited, *halved, *given_up; /* mapped before the forks, and changed after them */
static volatile int *shared;
static volatile int signals, ends;

static void must(int right, const char *what)
{
	if (!right) {
		perror(what);
		abort();
	}
}

static void count_signal(int unused) { signals++; }
static void count_end(int unused) { ends++; }

static char *map(int flags)
{
	char *at = mmap(0, pages * page, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
	must(at != MAP_FAILED, "mmap");
	memset(at, 1, pages * page);
	return at;
}

static int read_number(int fd)
{
	int n;
	ssize_t got;
	while ((got = read(fd, &n, sizeof n)) < 0 && errno == EINTR)
		;
	if (got != sizeof n)
		_exit(3);
	return n;
}

static void write_number(int fd, int n) { must(write(fd, &n, sizeof n) == sizeof n, "write"); }

static unsigned sum(const char *at, int n)
{
	unsigned s = 0;
	while (n-- > 0)
		s = s * 31 + at[n];
	return s;
}

static void grandchild(int fd)
{
	char *own = map(MAP_PRIVATE);
	must(setpgid(0, 0) == 0, "setpgid");
	for (;;) {
		int round = read_number(fd);
		own[round % pages * page] = round;
		inherited[round % pages * page + 1] = round;
		write_number(fd, sum(own, pages * page) ^ sum(inherited, pages * page) ^ (getppid() == *shared));
	}
}

static void *thread(void *pipes)
{
	for (int *p = pipes; p;)
		write_number(p[3], read_number(p[0]) * 2);
	return 0;
}

/* has_groups tells whether the worker has the groups that it has given itself, which it does where GROUPS is set. */
static int has_groups(void)
{
	gid_t real, effective, saved, all[2];
	return !getenv("GROUPS") || (getresgid(&real, &effective, &saved) == 0 && effective == 0 && saved == 43 && getgroups(2, all) == 1 && all[0] == 4);
}

/* become is what a worker does to differ from its parent. */
static void become(void)
{
	must(setsid() == getpid() && chdir("sub") == 0 && prctl(PR_SET_NAME, "worker") == 0, "setsid");
	must(prctl(PR_SET_PDEATHSIG, SIGTERM) == 0, "PDEATHSIG");
	umask(027);
	must(!getenv("GROUPS") || (setgroups(1, (gid_t[]){4}) == 0 && setresgid(-1, -1, 43) == 0), "groups");
	must(munmap(given_up, pages * page) == 0, "munmap");
	must(mprotect(halved, pages / 2 * page, PROT_READ) == 0, "mprotect");
	must(madvise(inherited + page, page, MADV_DONTNEED) == 0, "madvise");
	struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
	must(sigaction(SIGUSR1, &action, 0) == 0 && signal(SIGPIPE, SIG_IGN) != SIG_ERR && signal(SIGCHLD, SIG_DFL) != SIG_ERR, "sigaction");
	stack_t stack = {.ss_sp = map(MAP_PRIVATE), .ss_size = pages * page};
	must(sigaltstack(&stack, 0) == 0, "sigaltstack");
}

static void worker(int in, int out)
{
	become();
	int pair[2], pipes[4];
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe(pipes) == 0 && pipe(pipes + 2) == 0, "pipes");
	*shared = getpid();
	if (fork() == 0) {
		close(pair[0]);
		close(in);
		close(out);
		for (int n = 0; n < 4; n++)
			close(pipes[n]);
		grandchild(pair[1]);
	}
	close(pair[1]);
	pthread_t t;
	must(pthread_create(&t, 0, thread, pipes) == 0, "thread");
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	must(pthread_sigmask(SIG_BLOCK, &set, 0) == 0, "mask");
	int instance = epoll_create1(0), events = signalfd(-1, &set, 0);
	must(epoll_ctl(instance, EPOLL_CTL_ADD, in, &(struct epoll_event){.events = EPOLLIN}) == 0, "epoll");
	must(epoll_ctl(instance, EPOLL_CTL_ADD, events, &(struct epoll_event){.events = EPOLLIN}) == 0, "epoll");
	for (char *heap = 0, *cwd = malloc(1000);;) {
		struct epoll_event e;
		while (epoll_wait(instance, &e, 1, -1) != 1)
			;
		int round = read_number(in), size = round % 5 * 100000 + 100;
		heap = realloc(heap, size);
		memset(heap, round, size);
		inherited[round % pages * page] = round;
		halved[(pages / 2 + round % (pages / 2)) * page] = round;
		write_number(pair[0], round);
		write_number(pipes[1], round);
		unsigned answer = sum(heap, size) ^ sum(inherited, pages * page) ^ sum(halved, pages * page) ^ read_number(pair[0]) ^ read_number(pipes[2]);
		must(getcwd(cwd, 1000) != 0 && umask(027) == 027 && has_groups(), "directory");
		write_number(out, answer + strlen(cwd) + signals * 1000 + (getppid() == shared[1]));
	}
}

static int helper; /* comes with one round and ends with another */

static int change_helper(int round)
{
	int status = 0;
	if (round % 3 == 1 && helper == 0) {
		if ((helper = fork()) == 0)
			for (;;)
				pause();
	} else if (round % 3 == 0 && helper != 0) {
		must(kill(helper, SIGTERM) == 0 && waitpid(helper, &status, 0) == helper, "wait");
		helper = 0;
	}
	return status;
}

static void serve(int c, int to, int from, int child)
{
	char got, answer[100];
	for (int round = 1; read(c, &got, 1) == 1;) {
		if (got != '\n')
			continue;
		must(kill(child, SIGUSR1) == 0, "kill");
		shared[2] += round;
		write_number(to, round);
		int status = change_helper(round), computed = read_number(from);
		snprintf(answer, sizeof answer, "%d: %x %d %d %d %d\n", round, computed, status, helper, ends, shared[2]);
		must(write(c, answer, strlen(answer)) == (ssize_t)strlen(answer), "answer");
		round++;
	}
}

int main(void)
{
	int to[2], from[2];
	must(pipe(to) == 0 && pipe(from) == 0 && (mkdir("sub", 0700) == 0 || errno == EEXIST), "pipes");
	inherited = map(MAP_PRIVATE);
	halved = map(MAP_PRIVATE);
	given_up = map(MAP_PRIVATE);
	shared = (int *)map(MAP_SHARED);
	memset((void *)shared, 0, page);
	shared[1] = getpid();
	struct sigaction action = {.sa_handler = count_end, .sa_flags = SA_RESTART};
	must(sigaction(SIGCHLD, &action, 0) == 0, "sigaction");
	int child = fork();
	if (child == 0) {
		close(to[1]);
		close(from[0]);
		worker(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(7000), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM, 0), c;
	must(listener >= 0 && bind(listener, (void *)&at, sizeof at) == 0 && listen(listener, 1) == 0, "listen");
	must((c = accept(listener, 0, 0)) >= 0, "accept");
	serve(c, to[1], from[0], child);
}
