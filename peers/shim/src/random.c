/*
 * Random numbers: a part of nd.c. Where they are made here, each thread draws from a stream of its
 * own. Its key follows from the seed and from the place of the thread in the tree of forks.
 */

/* random_stream is that of a thread: its n-th number follows from the key alone. */
static __thread struct random_stream {
	uint64_t key, n, children; /* children: threads and processes that it has started */
} stream;

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
