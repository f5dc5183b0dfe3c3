/* N threads that each set one element of an array, and one that looks for the last zero. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

static atomic_int array[N + 1];

static void *set(void *argument)
{
	intptr_t i = (intptr_t)argument;
	atomic_store(&array[i], atomic_load(&array[i - 1]) + 1);
	return NULL;
}

int main(void)
{
	pthread_t threads[N];
	for (intptr_t i = 1; i <= N; i++)
		pthread_create(&threads[i - 1], NULL, set, (void *)i);
	int i = N;
	while (atomic_load(&array[i]) != 0)
		i--;
	return 0;
}
