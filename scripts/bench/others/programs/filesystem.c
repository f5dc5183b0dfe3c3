/* N threads that each look for a free block for an inode. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { INODES = 32, BLOCKS = 26 };

static pthread_mutex_t inode_lock[INODES], block_lock[BLOCKS];
static int inode[INODES];
static bool busy[BLOCKS];

static bool take(int b)
{
	pthread_mutex_lock(&block_lock[b]);
	bool is_free = !busy[b];
	busy[b] = true;
	pthread_mutex_unlock(&block_lock[b]);
	return is_free;
}

static void *find(void *argument)
{
	int i = (int)(intptr_t)argument % INODES;
	pthread_mutex_lock(&inode_lock[i]);
	if (inode[i] == 0) {
		int b = i * 2 % BLOCKS;
		while (!take(b))
			b = (b + 1) % BLOCKS;
		inode[i] = b + 1;
	}
	pthread_mutex_unlock(&inode_lock[i]);
	return NULL;
}

int main(void)
{
	pthread_t threads[N];
	for (int i = 0; i < INODES; i++)
		pthread_mutex_init(&inode_lock[i], NULL);
	for (int i = 0; i < BLOCKS; i++)
		pthread_mutex_init(&block_lock[i], NULL);
	for (intptr_t i = 0; i < N; i++)
		pthread_create(&threads[i], NULL, find, (void *)i);
	for (int i = 0; i < N; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
