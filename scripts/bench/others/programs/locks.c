/* N threads that each enter three critical sections of one lock. */
#include <pthread.h>

static pthread_mutex_t lock;
static int entered;

static void *enter(void *argument)
{
	(void)argument;
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&lock);
		entered++;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[N];
	pthread_mutex_init(&lock, NULL);
	for (int i = 0; i < N; i++)
		pthread_create(&threads[i], NULL, enter, NULL);
	for (int i = 0; i < N; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
