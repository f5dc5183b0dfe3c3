/* N threads that each enter messages in a common hash table. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { SIZE = 128, MESSAGES = 4 };

static pthread_mutex_t lock[SIZE];
static int table[SIZE];

static bool enter(int h, int message)
{
	pthread_mutex_lock(&lock[h]);
	bool is_free = table[h] == 0;
	if (is_free)
		table[h] = message;
	pthread_mutex_unlock(&lock[h]);
	return is_free;
}

static void *run(void *argument)
{
	for (int m = 1; m <= MESSAGES; m++) {
		int message = m * 11 + (int)(intptr_t)argument;
		int h = message * 7 % SIZE;
		while (!enter(h, message))
			h = (h + 1) % SIZE;
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[N];
	for (int i = 0; i < SIZE; i++)
		pthread_mutex_init(&lock[i], NULL);
	for (intptr_t i = 0; i < N; i++)
		pthread_create(&threads[i], NULL, run, (void *)i);
	for (int i = 0; i < N; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
