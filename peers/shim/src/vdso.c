/*
 * vdso.so stands in for the kernel's vDSO. Programs of Go and static programs ask that for the time
 * and for random numbers, and not the C library. It makes the values as nd.so does. The proxy maps it
 * and puts the key in place. It runs anywhere in the program, on any stack, so it may use nothing: no
 * library, no relocations, no thread-local memory.
 *
 * Threads draw from one stream. Clocks that tell durations only are the machine's: the Go
 * runtime schedules by them.
 */
#include <stddef.h>
#include <stdint.h>

#define VISIBLE __attribute__((visibility("default")))

#ifdef SOURCE
/* The hash of this file, by which the checker knows whether the library is up to date. */
__attribute__((used)) static const char source_hash[] = SOURCE;
#endif

/* Private to the process: it goes back with it. */
VISIBLE struct {
	uint64_t key;
	uint64_t start;    /* of the clock, in seconds of Unix time */
	uint64_t numbers;  /* drawn so far */
	uint64_t readings; /* of the clock */
} tandem_state = {1, 0, 0, 0};

static uint64_t mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

struct timespec {
	int64_t seconds, nanoseconds;
};

enum { REALTIME = 0, REALTIME_COARSE = 5, TAI = 11, CLOCK_STEP = 1000, CLOCK_GETTIME = 228 };

static void virtual_time(struct timespec *t)
{
	uint64_t ns = __atomic_add_fetch(&tandem_state.readings, 1, __ATOMIC_RELAXED) * CLOCK_STEP;
	t->seconds = tandem_state.start + ns / 1000000000;
	t->nanoseconds = ns % 1000000000;
}

VISIBLE int __vdso_clock_gettime(int clock, struct timespec *t)
{
	if (clock == REALTIME || clock == REALTIME_COARSE || clock == TAI) {
		virtual_time(t);
		return 0;
	}
	long result;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"((long)CLOCK_GETTIME), "D"((long)clock), "S"(t)
			 : "rcx", "r11", "memory");
	return result;
}

VISIBLE int __vdso_gettimeofday(struct timespec *t, void *zone)
{
	(void)zone;
	if (t) {
		virtual_time(t);
		t->nanoseconds /= 1000; /* it is a timeval */
	}
	return 0;
}

VISIBLE int64_t __vdso_time(int64_t *to)
{
	struct timespec t;
	virtual_time(&t);
	if (to)
		*to = t.seconds;
	return t.seconds;
}

/* How a caller has to allocate the states that the kernel's function needs: getrandom(2)
 * of the vDSO, since Linux 6.11. */
struct opaque_params {
	uint32_t size, protection, flags, reserved[13];
};

VISIBLE int64_t __vdso_getrandom(void *to, size_t n, unsigned flags, void *state, size_t size)
{
	(void)flags;
	if (size == ~(size_t)0) {
		struct opaque_params *p = state;
		p->size = 64;
		p->protection = 3;   /* PROT_READ | PROT_WRITE */
		p->flags = 0x22;     /* MAP_PRIVATE | MAP_ANONYMOUS */
		for (int i = 0; i < 13; i++)
			p->reserved[i] = 0;
		return 0;
	}
	uint64_t v = 0;
	for (size_t i = 0; i < n; i++, v >>= 8) {
		if (i % 8 == 0)
			v = mix(tandem_state.key ^ mix(__atomic_add_fetch(&tandem_state.numbers, 1, __ATOMIC_RELAXED)));
		((volatile unsigned char *)to)[i] = v;
	}
	return n;
}
