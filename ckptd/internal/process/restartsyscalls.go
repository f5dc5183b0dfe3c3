package process

import "golang.org/x/sys/unix"

// RestartSyscalls remembers in which system calls threads wait that a checkpoint has interrupted,
// by their ids: the registers, with the number of the call as Orig_rax. The kernel goes on with
// some of these calls by another one, restart_syscall(2), from what it has noted of them: so that
// is what the next checkpoint finds. A restored thread cannot make it: what is noted for it is the
// call of the thread that made it.
type RestartSyscalls map[int]unix.PtraceRegs

// Note finds out in which calls the threads of frozen processes wait, and returns what is to be
// remembered of them. It is called at each checkpoint, also one that fails: a thread that was
// interrupted goes on with the other call all the same.
func (w RestartSyscalls) Note(frozen []*Frozen) RestartSyscalls {
	now := RestartSyscalls{}
	for _, p := range frozen {
		for _, t := range p.threads {
			if t.call == unix.SYS_RESTART_SYSCALL {
				t.call = w.callOf(t)
			}
			if int64(t.registers.Rax) == restartWithBlock && t.call != noCall {
				r := t.registers
				r.Orig_rax = t.call
				now[t.tid] = r
			}
		}
	}
	return now
}

// callOf is the number of the call that a thread goes on with by restart_syscall(2).
func (w RestartSyscalls) callOf(t *thread) uint64 {
	was, known := w[t.tid]
	now := t.registers
	// as if it had not been woken since: everything else is as it was
	now.Orig_rax, now.Rax = was.Orig_rax, was.Rax
	if !known || now != was {
		return noCall
	}
	return was.Orig_rax
}
