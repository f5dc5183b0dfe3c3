/* Two-phase commit of a transaction manager and N resource managers, with the same steps as
 * examples/protocols/twophase. A message stays in the network, and may arrive again.
 * GUARDS leaves out arrivals that change nothing: the states are the same. */
#ifndef N
#define N 3
#endif
#define WORKING   0
#define PREPARED  1
#define COMMITTED 2
#define ABORTED   3
#define ALL ((1 << N) - 1)

byte rm[N];
byte tm;        /* 0: init, 1: committed, 2: aborted */
byte seen;      /* whose Prepared the manager has taken */
byte prepared;
bool committing, aborting;

#ifdef GUARDS
#define NEW(condition) && (condition)
#else
#define NEW(condition)
#endif

#define MANAGER(i) \
	:: d_step { (prepared & (1 << i)) NEW(tm == 0 && !(seen & (1 << i))) -> \
		if :: tm == 0 -> seen = seen | (1 << i) :: else fi } \
	:: d_step { rm[i] == WORKING -> rm[i] = PREPARED; prepared = prepared | (1 << i) } \
	:: d_step { rm[i] == WORKING -> rm[i] = ABORTED } \
	:: d_step { committing NEW(rm[i] != COMMITTED) -> assert(rm[i] != ABORTED); rm[i] = COMMITTED } \
	:: d_step { aborting NEW(rm[i] != ABORTED) -> assert(rm[i] != COMMITTED); rm[i] = ABORTED }

active proctype system() {
	do
	:: d_step { tm == 0 && seen == ALL -> tm = 1; committing = true }
	:: d_step { tm == 0 -> tm = 2; aborting = true }
	MANAGER(0)
	MANAGER(1)
	MANAGER(2)
#if N > 3
	MANAGER(3)
	MANAGER(4)
#endif
#if N > 5
	MANAGER(5)
	MANAGER(6)
#endif
	od
}
