/* One thread that writes a variable, and N that read it. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *see(void *argument)
{
	(void)argument;
	atomic_load(&x);
	return NULL;
}

int main(void)
{
	pthread_t threads[N];
	for (int i = 0; i < N; i++)
		pthread_create(&threads[i], NULL, see, NULL);
	atomic_store(&x, 42);
	for (int i = 0; i < N; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
