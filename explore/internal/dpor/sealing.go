package dpor

// Why the reduction is sound together with sealing; there is no code here.
//
// In sealed packages goroutines are not preempted (Ball, Burckhardt, Coons, Musuvathi, Qadeer:
// Preemption Sealing for Efficient Concurrency Testing, TACAS 2010): an operation that is called
// there has no scheduling point, unless it is the first in a call from elsewhere, has to wait or
// has several alternatives, or follows one that has, or one after which a transition is over
// (Transition.SingleAccess). Whoever notices first that a peer has accepted or answered has had to
// wait. So a transition may consist of several operations. What is explored is the program of these
// larger transitions, whose executions are some of those of the program. Verdicts are about them,
// and reports name the packages that were open. What that leaves out are violations that need a
// preemption inside a sealed package.
//
// Of that program, all that the reduction assumes is true:
//
//  1. What a transition does follows from the state of its goroutine and from the objects that it
//     accesses, its accesses being those of all operations in it. That includes where it ends:
//     before an operation that is not sealed, as the code of the goroutine has it; or before one
//     that is sealed and has to wait, or would have had to wait for a peer, or has several
//     alternatives, as the objects of that operation have it. This look at them is logged as a
//     Read. If its first operation had several alternatives, it ends before the next one that is
//     sealed or announces that it waits. The reason why it could begin is logged too: the objects
//     of Needs are among those accessed.
//  2. Hence two transitions without conflicting accesses commute. After the other one each finds
//     its objects as they were, does the same, and ends at the same place; and neither enables or
//     disables the other one.
//  3. Hence executions that differ only in the order of independent transitions end in the same
//     state, with the same outcome, and any one of them stands for all. A deadlock inside a sealed
//     package is among them: who has to wait there is at a scheduling point.
//  4. Data races are found in whichever is run: what orders two accesses to memory are operations
//     on common objects, and within one goroutine its code. Neither depends on where transitions
//     end.
//
// What is not true of larger transitions is that the accesses of a goroutine's next one stay the
// same while it does not run: it may be cut short where another has taken a lock meanwhile, and
// then conflict with less. Optimal DPOR relies on it in one place, see recheck.go.
//
// TestAgainstTwin (sealed) compares with DFS under the same sealing on random programs, and
// TestReductionWithSealing in package check does so on programs of real Go.
