/*
 * The counters that the process shares with the checker: a part of nd.c.
 */

/* What is counted. shim/counters.go has the same list and the same layout. */
enum source {
	TIME, GETTIMEOFDAY, CLOCK_GETTIME,
	GETRANDOM, GETENTROPY, ARC4RANDOM, DEVICE,
	SOURCES = 14
};

/* A slot counts the calls of one thread. Slots of dead threads stay. */
struct slot {
	uint32_t tid; /* 0: free */
	uint32_t peer;
	uint64_t next; /* ns until something that the process waits for, see clock.c; 0: nothing */
	uint64_t calls[SOURCES];
};

enum { SLOTS = 511 };

struct counters {
	uint64_t lost; /* calls of threads that found no slot */
	uint64_t unused[15];
	struct slot slot[SLOTS];
};

static struct counters *page;

static __thread uint32_t tid;
static __thread struct slot *own;

/* claim finds the slot of this thread, or a free one; NULL if there is none. */
static struct slot *claim(void)
{
	if (!tid)
		tid = syscall(SYS_gettid);
	for (uint32_t i = 0; i < SLOTS; i++) {
		struct slot *s = &page->slot[(tid + i) % SLOTS];
		uint32_t seen = __atomic_load_n(&s->tid, __ATOMIC_ACQUIRE);
		if (seen == 0 &&
		    __atomic_compare_exchange_n(&s->tid, &seen, tid, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
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
