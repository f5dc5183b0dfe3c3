/*
 * nd.so is preloaded into every process of a peer. It counts the calls by which the
 * process reads what differs from run to run, the time and random numbers, in a page that
 * it shares with the checker. Where the checker wants to choose the behaviour of the peer
 * it also makes the values: random numbers then follow from a seed and from the place of
 * the thread in the tree of forks, and the clock advances by a step with every reading.
 *
 * The page is a file that is mapped by all processes. It is no part of a checkpoint.
 * All that makes values is in private memory: it goes back with the process.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

/* What is counted: peers/page.go has the same list, and the same layout. */
enum source { TIME, GETTIMEOFDAY, CLOCK_GETTIME, GETRANDOM, GETENTROPY, ARC4RANDOM, DEVICE, SOURCES = 14 };

/* A slot counts the calls of one thread. Slots of dead threads stay. */
struct slot {
	uint32_t tid; /* 0: free */
	uint32_t peer;
	uint64_t next; /* ns until something that the process waits for, see clock.c; 0: nothing */
	uint64_t calls[SOURCES];
};

enum { SLOTS = 511 };

struct page {
	uint64_t lost; /* calls of threads that found no slot */
	uint64_t unused[15];
	struct slot slot[SLOTS];
};

#ifdef SOURCE
/* The hash of this file, by which the checker knows whether the library is up to date. */
__attribute__((used)) static const char source_hash[] = SOURCE;
#endif

static struct page *page;
static uint32_t peer;  /* number of the peer that this process belongs to */
static bool chosen;    /* values are made here */
static const char *settings; /* entries of the environment, for programs that this one executes */
static const char *preload;

/* random_stream is that of a thread: its n-th number follows from the key alone. */
static __thread struct random_stream {
	uint64_t key, n, children; /* children: threads and processes that it has started */
} stream;

static __thread uint32_t tid;
static __thread struct slot *own;

static int (*real_clock_gettime)(clockid_t, struct timespec *);

/* mix is the finalizer of splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
static uint64_t mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static uint64_t next_number(void)
{
	return mix(stream.key ^ mix(++stream.n));
}

static void fill(void *to, size_t n)
{
	for (unsigned char *p = to; n > 0;) {
		uint64_t v = next_number();
		size_t part = n < sizeof v ? n : sizeof v;
		memcpy(p, &v, part);
		p += part;
		n -= part;
	}
}

/* child_key names the next child of this thread: a thread or process that it starts. */
static uint64_t child_key(void)
{
	return mix(stream.key ^ mix(~++stream.children));
}

/* --- counting --- */

static struct slot *claim(void)
{
	if (!tid)
		tid = syscall(SYS_gettid);
	for (uint32_t i = 0; i < SLOTS; i++) {
		struct slot *s = &page->slot[(tid + i) % SLOTS];
		uint32_t seen = __atomic_load_n(&s->tid, __ATOMIC_ACQUIRE);
		if (seen == 0 && __atomic_compare_exchange_n(&s->tid, &seen, tid, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			s->peer = peer;
		else if (seen != tid)
			continue;
		if (s->peer == peer)
			return s;
	}
	return NULL;
}

/* count notes a reading, and tells whether the value is to be made here. */
static bool count(enum source what)
{
	if (!page)
		return chosen;
	/* After a restore the slot may be somebody else's: the page does not go back. */
	if (!own || own->tid != tid || own->peer != peer)
		own = claim();
	if (own)
		__atomic_fetch_add(&own->calls[what], 1, __ATOMIC_RELEASE);
	else
		__atomic_fetch_add(&page->lost, 1, __ATOMIC_RELEASE);
	return chosen;
}

/* --- random numbers --- */

ssize_t getrandom(void *to, size_t n, unsigned flags)
{
	if (!count(GETRANDOM))
		return syscall(SYS_getrandom, to, n, flags);
	fill(to, n);
	return n;
}

static int fill_whole(void *to, size_t n)
{
	for (unsigned char *p = to; n > 0;) {
		ssize_t got = syscall(SYS_getrandom, p, n, 0);
		if (got < 0 && errno != EINTR)
			return -1;
		if (got > 0) {
			p += got;
			n -= got;
		}
	}
	return 0;
}

int getentropy(void *to, size_t n)
{
	if (n > 256) {
		errno = EIO;
		return -1;
	}
	if (!count(GETENTROPY))
		return fill_whole(to, n);
	fill(to, n);
	return 0;
}

void arc4random_buf(void *to, size_t n)
{
	if (count(ARC4RANDOM))
		fill(to, n);
	else if (fill_whole(to, n) != 0)
		abort();
}

uint32_t arc4random(void)
{
	uint32_t v;
	arc4random_buf(&v, sizeof v);
	return v;
}

uint32_t arc4random_uniform(uint32_t bound)
{
	if (bound < 2)
		return 0;
	uint32_t v, least = -bound % bound; /* below it, small results would be more frequent */
	do
		v = arc4random();
	while (v < least);
	return v % bound;
}

/* --- time --- */

#include "clock.c"
#include "waits.c"

/* --- limits --- */

/* A sandbox gives up the right to open descriptors. CRIU opens some in the process that it
 * saves, and where it lacks CAP_SYS_RESOURCE nobody can give that right back. */
enum { LEAST_FILES = 64 };

static bool forbids_files(int resource, rlim64_t most)
{
	return resource == RLIMIT_NOFILE && most < LEAST_FILES;
}

int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *to)
{
	if (forbids_files(resource, to->rlim_max))
		return 0;
	return syscall(SYS_prlimit64, 0, resource, to, NULL);
}

int setrlimit(__rlimit_resource_t resource, const struct rlimit *to)
{
	return setrlimit64(resource, (const struct rlimit64 *)to); /* the same on 64 bits */
}

/* --- files --- */

static bool is_random_device(const char *path)
{
	return !strcmp(path, "/dev/urandom") || !strcmp(path, "/dev/random");
}

/* Files that tell what the machine is doing. Programs take them for randomness; a chosen
 * peer does not have them. */
static bool tells_state(const char *path)
{
	static const char *const files[] = {
		"timer_list", "interrupts", "softirqs", "loadavg", "uptime", "stat", "vmstat", "meminfo",
		"diskstats", "schedstat", "net/", "self/net/", "sys/kernel/random/",
	};
	if (strncmp(path, "/proc/", 6) != 0)
		return false;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		size_t n = strlen(files[i]);
		if (!strncmp(path + 6, files[i], n) && (files[i][n - 1] == '/' || path[6 + n] == 0))
			return true;
	}
	return false;
}

enum { DEVICES = 1024 };

/* The file that was opened as a random device with this descriptor, which may be another
 * file's by now. Where values are chosen the device is a file, for those whom this does not reach. */
static struct {
	bool opened;
	dev_t device;
	ino_t inode;
} devices[DEVICES];

static void note_device(int fd, const char *path)
{
	struct stat st;
	if (fd < 0 || fd >= DEVICES)
		return;
	devices[fd].opened = is_random_device(path) && fstat(fd, &st) == 0;
	if (devices[fd].opened) {
		devices[fd].device = st.st_dev;
		devices[fd].inode = st.st_ino;
	}
}

static bool is_device(int fd)
{
	struct stat st;
	if (fd < 0 || fd >= DEVICES || !devices[fd].opened)
		return false;
	devices[fd].opened = fstat(fd, &st) == 0 && st.st_dev == devices[fd].device && st.st_ino == devices[fd].inode;
	return devices[fd].opened;
}

static int open_file(int directory, const char *path, int flags, mode_t mode)
{
	if (chosen && tells_state(path)) {
		errno = ENOENT;
		return -1;
	}
	int fd = syscall(SYS_openat, directory, path, flags, mode);
	note_device(fd, path);
	return fd;
}

#define OPEN(name, parameters, directory)                                \
	int name parameters                                              \
	{                                                                \
		mode_t mode = 0;                                         \
		if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { \
			va_list rest;                                    \
			va_start(rest, flags);                           \
			mode = va_arg(rest, mode_t);                     \
			va_end(rest);                                    \
		}                                                        \
		return open_file(directory, path, flags, mode);          \
	}

OPEN(open, (const char *path, int flags, ...), AT_FDCWD)
OPEN(open64, (const char *path, int flags, ...), AT_FDCWD)
OPEN(openat, (int directory, const char *path, int flags, ...), directory)
OPEN(openat64, (int directory, const char *path, int flags, ...), directory)

/* What a compiler makes of open where it checks the size of objects. */
int __open_2(const char *path, int flags) { return open_file(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) { return open_file(AT_FDCWD, path, flags, 0); }
int __openat_2(int directory, const char *path, int flags) { return open_file(directory, path, flags, 0); }
int __openat64_2(int directory, const char *path, int flags) { return open_file(directory, path, flags, 0); }

ssize_t read(int fd, void *to, size_t n)
{
	if (is_device(fd) && count(DEVICE)) {
		fill(to, n);
		return n;
	}
	static ssize_t (*real)(int, void *, size_t); /* where a thread can be cancelled */
	if (!real)
		real = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
	return real(fd, to, n);
}

ssize_t __read_chk(int fd, void *to, size_t n, size_t room)
{
	if (n > room)
		abort();
	return read(fd, to, n);
}

/* A stream reads without going through the function above. */
static ssize_t read_stream(void *cookie, char *to, size_t n)
{
	(void)cookie;
	getrandom(to, n, 0);
	return n;
}

static FILE *open_stream(const char *path, const char *mode, const char *name)
{
	if (chosen && tells_state(path)) {
		errno = ENOENT;
		return NULL;
	}
	if (is_random_device(path) && mode[0] == 'r') {
		cookie_io_functions_t functions = {.read = read_stream};
		return fopencookie(NULL, "r", functions);
	}
	FILE *(*real)(const char *, const char *) = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, name);
	return real(path, mode);
}

FILE *fopen(const char *path, const char *mode) { return open_stream(path, mode, "fopen"); }
FILE *fopen64(const char *path, const char *mode) { return open_stream(path, mode, "fopen64"); }

/* --- processes and threads --- */

/* A child has a stream of its own, and counts in a slot of its own. */
static __thread uint64_t key_of_child;

static void before_fork(void) { key_of_child = child_key(); }

static void after_fork(void)
{
	stream = (struct random_stream){.key = key_of_child};
	tid = 0;
	own = NULL;
	forget_waits();
}

/* choose_pid makes the kernel give the child a process ID that follows from its key: IDs
 * are taken for randomness too. It needs root, and may fail: then the ID is any. */
static void choose_pid(uint64_t key)
{
	char text[16];
	int error = errno;
	int fd = syscall(SYS_openat, AT_FDCWD, "/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		int n = snprintf(text, sizeof text, "%d", (int)(2000 + key % 28000));
		if (write(fd, text, n) != n)
			n = 0;
		close(fd);
	}
	errno = error;
}

pid_t fork(void)
{
	static pid_t (*real)(void);
	if (!real)
		real = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");
	if (chosen)
		choose_pid(mix(stream.key ^ mix(~(stream.children + 1))));
	return real();
}

struct beginning {
	void *(*function)(void *);
	void *argument;
	uint64_t key;
};

static void *begin_thread(void *p)
{
	struct beginning b = *(struct beginning *)p;
	free(p);
	stream = (struct random_stream){.key = b.key};
	return b.function(b.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	if (!real)
		real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
	struct beginning *b = malloc(sizeof *b);
	if (!b)
		return EAGAIN;
	*b = (struct beginning){function, argument, child_key()};
	int error = real(thread, attributes, begin_thread, b);
	if (error)
		free(b);
	return error;
}

/* --- programs that the process executes have the library too, whatever environment it
 *     gives them --- */

static size_t length(char *const list[])
{
	size_t n = 0;
	while (list && list[n])
		n++;
	return n;
}

static bool is_own(const char *entry)
{
	return !strncmp(entry, "TANDEM_ND=", 10) || !strncmp(entry, "LD_PRELOAD=", 11);
}

/* watched copies an environment; to has room for three entries more. */
static char *const *watched(char *to[], char *const environment[])
{
	size_t n = 0;
	if (!settings)
		return environment;
	for (size_t i = 0; environment && environment[i]; i++)
		if (!is_own(environment[i]))
			to[n++] = environment[i];
	to[n++] = (char *)settings;
	to[n++] = (char *)preload;
	to[n] = NULL;
	return to;
}

#define WATCHED(environment) watched(alloca((length(environment) + 3) * sizeof(char *)), environment)
#define REAL(name, result, ...) ((result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

int execve(const char *path, char *const arguments[], char *const environment[])
{
	return syscall(SYS_execve, path, arguments, WATCHED(environment));
}

int execv(const char *path, char *const arguments[]) { return execve(path, arguments, environ); }

int execvpe(const char *file, char *const arguments[], char *const environment[])
{
	return REAL("execvpe", int, const char *, char *const[], char *const[])(file, arguments, WATCHED(environment));
}

int execvp(const char *file, char *const arguments[]) { return execvpe(file, arguments, environ); }

/* EXEC_LIST makes a function that takes the arguments one by one. */
#define EXEC_LIST(name, vector, last)                                      \
	int name(const char *path, const char *first, ...)                 \
	{                                                                  \
		size_t n = 1;                                              \
		va_list rest;                                              \
		va_start(rest, first);                                     \
		while (va_arg(rest, char *))                               \
			n++;                                               \
		va_end(rest);                                              \
		char **arguments = alloca((n + 1) * sizeof(char *));       \
		va_start(rest, first);                                     \
		arguments[0] = (char *)first;                              \
		for (size_t i = 1; i <= n; i++)                            \
			arguments[i] = va_arg(rest, char *);               \
		char *const *environment = last;                           \
		va_end(rest);                                              \
		return vector(path, arguments, environment);               \
	}

EXEC_LIST(execl, execve, environ)
EXEC_LIST(execlp, execvpe, environ)
EXEC_LIST(execle, execve, va_arg(rest, char *const *))

#define SPAWN(name)                                                                                             \
	int name(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,                       \
		 const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])       \
	{                                                                                                       \
		return REAL(#name, int, pid_t *, const char *, const posix_spawn_file_actions_t *,              \
			    const posix_spawnattr_t *, char *const[], char *const[])(                           \
			pid, path, actions, attributes, arguments, WATCHED(environment));                       \
	}

SPAWN(posix_spawn)
SPAWN(posix_spawnp)

/* --- the beginning --- */

/* TANDEM_ND is "FILE PEER CLOCK START", or "FILE PEER CLOCK START SEED" where values are made and
 * not only counted. CLOCK is machine or virtual. START is when a clock that is made here starts, in
 * seconds of Unix time. A program that a process executes continues neither the stream nor the clock
 * of the process: like the first program of the peer, it begins with the seed, mixed with its ID. */
__attribute__((constructor)) static void begin(void)
{
	static char kept_settings[256];
	const char *s = getenv("TANDEM_ND"), *l = getenv("LD_PRELOAD");
	char file[128], clock[16];
	unsigned number;
	unsigned long long start, seed;
	real_clock_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	if (!s || !l || strlen(s) > 200)
		return;
	int fields = sscanf(s, "%127s %u %15s %llu %llu", file, &number, clock, &start, &seed);
	if (fields < 4)
		return;
	peer = number;
	frozen = !strcmp(clock, "virtual");
	clock_start = start;
	if (fields == 5) {
		chosen = true;
		stream.key = mix(seed ^ mix((uint64_t)getpid() << 32 | number));
	}
	own_clock = chosen || frozen;
	begin_waits();
	int fd = syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	void *at = mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	char *kept_preload;
	if (at == MAP_FAILED || asprintf(&kept_preload, "LD_PRELOAD=%s", l) < 0)
		return;
	page = at;
	snprintf(kept_settings, sizeof kept_settings, "TANDEM_ND=%s", s);
	settings = kept_settings;
	preload = kept_preload;
	pthread_atfork(before_fork, NULL, after_fork);
}
