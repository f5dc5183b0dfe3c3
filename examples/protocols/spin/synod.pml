/* Paxos for one value with two proposers, three acceptors and one learner, with the same steps as
 * examples/protocols/synod. QUORUMS has a majority of answers arrive in one step.
 *
 * Votes are numbered: 0 is none, 1 the value 1 in ballot 1, 2 and 3 the values 1 and 2 in ballot 2.
 * In ballot 1 there is no other value: whoever promises it has not voted yet. */
#define A         3
#define AT(b, a)  (((b) - 1) * A + (a))
#define VALUE(v)  ((v) == 3 -> 2 : 1)
#define PAIR(m)   ((m) == 3 || (m) == 5 || (m) == 6)

byte phase[2];    /* of proposers. 0: idle, 1: waits for promises, 2: done */
byte promised[A]; /* the ballot */
byte last[A];     /* the vote */
byte learned;     /* a bit for each value */

/* The network has each message at most once. */
byte prepare;         /* a bit for each */
byte promise[2 * A];  /* 0, or the last vote and 1 */
byte accept[2 * A];   /* votes; 0: there is no message */
byte accepted[2 * A];

#ifndef QUORUMS
byte held[2 * A]; /* promises that a proposer has taken */
byte votes[2];    /* of each ballot: whose votes the learner has taken, a majority at most */
#endif

#define ASK(b, v) phase[b - 1] = 2; accept[AT(b, 0)] = v; accept[AT(b, 1)] = v; accept[AT(b, 2)] = v

#define PROPOSE(b) \
	:: d_step { phase[b - 1] == 0 -> phase[b - 1] = 1; prepare = prepare | (7 << AT(b, 0)) }

#define PREPARE(b, a) \
	:: d_step { prepare & (1 << AT(b, a)) -> prepare = prepare & ~(1 << AT(b, a)); \
		if :: b > promised[a] -> promised[a] = b; promise[AT(b, a)] = last[a] + 1 :: else fi }

#define ACCEPT(b, a) \
	:: d_step { accept[AT(b, a)] -> \
		if :: b >= promised[a] -> \
			promised[a] = b; last[a] = accept[AT(b, a)]; accepted[AT(b, a)] = accept[AT(b, a)] \
		:: else fi; accept[AT(b, a)] = 0 }

#ifdef QUORUMS
#define PROMISES(b, x, y) \
	:: d_step { phase[b - 1] == 1 && promise[AT(b, x)] && promise[AT(b, y)] -> \
		if :: b == 1 -> ASK(b, 1) \
		:: b == 2 && promise[AT(b, x)] == 1 && promise[AT(b, y)] == 1 -> ASK(b, 3) \
		:: else -> ASK(b, 2) fi; \
		promise[AT(b, x)] = 0; promise[AT(b, y)] = 0 }
#define VOTES(b, x, y) \
	:: d_step { accepted[AT(b, x)] && accepted[AT(b, y)] -> \
		learned = learned | VALUE(accepted[AT(b, x)]); assert(learned != 3); \
		accepted[AT(b, x)] = 0; accepted[AT(b, y)] = 0 }
#define ANSWERS(b) \
	PROMISES(b, 0, 1) PROMISES(b, 0, 2) PROMISES(b, 1, 2) VOTES(b, 0, 1) VOTES(b, 0, 2) VOTES(b, 1, 2)
#else
#define COUNT(b) ((held[AT(b, 0)] > 0) + (held[AT(b, 1)] > 0) + (held[AT(b, 2)] > 0))
#define HAS(b)   (held[AT(b, 0)] > 1 || held[AT(b, 1)] > 1 || held[AT(b, 2)] > 1)
#define PROMISES(b, a) \
	:: d_step { promise[AT(b, a)] -> \
		if :: phase[b - 1] == 1 -> held[AT(b, a)] = promise[AT(b, a)]; \
			if :: COUNT(b) == 2 -> \
				if :: b == 1 -> ASK(b, 1) :: b == 2 && !HAS(b) -> ASK(b, 3) :: else -> ASK(b, 2) fi; \
				held[AT(b, 0)] = 0; held[AT(b, 1)] = 0; held[AT(b, 2)] = 0 \
			:: else fi \
		:: else fi; promise[AT(b, a)] = 0 }
#define VOTES(b, a) \
	:: d_step { accepted[AT(b, a)] -> \
		if :: !PAIR(votes[b - 1]) -> votes[b - 1] = votes[b - 1] | (1 << a); \
			if :: PAIR(votes[b - 1]) -> \
				learned = learned | VALUE(accepted[AT(b, a)]); assert(learned != 3) \
			:: else fi \
		:: else fi; accepted[AT(b, a)] = 0 }
#define ANSWERS(b) PROMISES(b, 0) PROMISES(b, 1) PROMISES(b, 2) VOTES(b, 0) VOTES(b, 1) VOTES(b, 2)
#endif

#define BALLOT(b) PROPOSE(b) \
	PREPARE(b, 0) PREPARE(b, 1) PREPARE(b, 2) ACCEPT(b, 0) ACCEPT(b, 1) ACCEPT(b, 2) ANSWERS(b)

active proctype system() {
	do
	BALLOT(1)
	BALLOT(2)
	od
}
