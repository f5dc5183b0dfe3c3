/*
 * Files: a part of nd.c. Devices of random numbers are counted, or read from the stream of the
 * thread. What tells of the state of the machine is hidden from peers whose behaviour is chosen.
 */

static bool is_random_device(const char *path)
{
	return !strcmp(path, "/dev/urandom") || !strcmp(path, "/dev/random");
}

/* Files that tell what the machine is doing. Programs use them as a source of randomness. A chosen
 * peer does not have them. */
static bool tells_state(const char *path)
{
	static const char *const files[] = {
		"timer_list", "interrupts", "softirqs",  "loadavg", "uptime",    "stat",               "vmstat",
		"meminfo",    "diskstats",  "schedstat", "net/",    "self/net/", "sys/kernel/random/",
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

/* For each descriptor: the file that was opened as a random device. The descriptor may be another
 * file's by now. Where values are chosen the device is a file, for those whom this library does not
 * reach. */
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
	devices[fd].opened = fstat(fd, &st) == 0 && st.st_dev == devices[fd].device &&
			     st.st_ino == devices[fd].inode;
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
int __openat_2(int at, const char *path, int flags) { return open_file(at, path, flags, 0); }
int __openat64_2(int at, const char *path, int flags) { return open_file(at, path, flags, 0); }

ssize_t read(int fd, void *to, size_t n)
{
	if (is_device(fd) && count(DEVICE)) {
		fill(to, n);
		return n;
	}
	return NEXT(read)(fd, to, n); /* where a thread can be cancelled */
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
	__typeof__(&fopen) real = (__typeof__(&fopen))dlsym(RTLD_NEXT, name);
	return real(path, mode);
}

FILE *fopen(const char *path, const char *mode) { return open_stream(path, mode, "fopen"); }
FILE *fopen64(const char *path, const char *mode) { return open_stream(path, mode, "fopen64"); }
