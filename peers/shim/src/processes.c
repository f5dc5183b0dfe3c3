/*
 * Processes and threads that a process starts, and programs that it executes: a part of nd.c.
 */

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

/* choose_pid makes the kernel give the child a process ID that follows from its key: programs use
 * IDs as a source of randomness. It needs root. Where it fails, the ID is any. */
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
	if (chosen)
		choose_pid(mix(stream.key ^ mix(~(stream.children + 1))));
	return NEXT(fork)();
}

struct start {
	void *(*function)(void *);
	void *argument;
	uint64_t key;
};

static void *start_thread(void *p)
{
	struct start b = *(struct start *)p;
	free(p);
	stream = (struct random_stream){.key = b.key};
	return b.function(b.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
		   void *argument)
{
	struct start *b = malloc(sizeof *b);
	if (!b)
		return EAGAIN;
	*b = (struct start){function, argument, child_key()};
	int error = NEXT(pthread_create)(thread, attributes, start_thread, b);
	if (error)
		free(b);
	return error;
}

/* --- programs that are executed have the library too, whatever environment they are given --- */

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

/* watched copies an environment and adds this library to it. There is room for three more entries. */
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

#define WATCHED(environment) \
	watched(alloca((length(environment) + 3) * sizeof(char *)), environment)

int execve(const char *path, char *const arguments[], char *const environment[])
{
	return syscall(SYS_execve, path, arguments, WATCHED(environment));
}

int execv(const char *path, char *const arguments[]) { return execve(path, arguments, environ); }

int execvpe(const char *file, char *const arguments[], char *const environment[])
{
	return NEXT(execvpe)(file, arguments, WATCHED(environment));
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

#define SPAWN(name)                                                                   \
	int name(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, \
		 const posix_spawnattr_t *attributes, char *const arguments[],            \
		 char *const environment[])                                               \
	{                                                                             \
		return NEXT(name)(pid, path, actions, attributes, arguments,              \
				  WATCHED(environment));                                  \
	}

SPAWN(posix_spawn)
SPAWN(posix_spawnp)

/* --- limits --- */

/* A sandbox gives up the right to open descriptors. But CRIU opens some in the process that it saves.
 * Where it lacks CAP_SYS_RESOURCE, it cannot give that right back to the process. */
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
