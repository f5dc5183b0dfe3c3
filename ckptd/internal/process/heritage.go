package process

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// What a process inherits it cannot always be given: limits, capabilities, the addresses of its
// arguments. A child that differs from its parent in these is refused.

// kindsOfSharing are what processes may share and these must not: kcmp(2).
var kindsOfSharing = map[uintptr]string{1: "memory", 2: "open files", 3: "directories", 4: "signal handlers"}

// Fields of /proc/PID/stat, by their numbers in proc(5) less 3.
const (
	statNice       = 16
	statExitSignal = 35
	statStartData  = 42 // from here to statEnvEnd are addresses of what exec(2) has laid out
	statEnvEnd     = 48
)

// examineHeritage reads what there is to know from outside of a process that another one has
// forked, or refuses. What a fork inherits and the child cannot be given later must be the same in
// both.
func examineHeritage(p *Frozen) (*descent, error) {
	for kind, what := range kindsOfSharing {
		r, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(p.PID), uintptr(p.Parent.PID), kind, 0, 0, 0)
		if errno != 0 {
			return nil, fmt.Errorf("compare processes %d and %d: %w", p.PID, p.Parent.PID, errno)
		}
		if r == 0 {
			return nil, incarnation.Refuse("process %d shares its %s with its parent", p.PID, what)
		}
	}
	d := &descent{forker: p.Parent.threads[0].rseq}
	own, err := procfs.StatFields(p.PID)
	if err != nil {
		return nil, err
	}
	parents, err := procfs.StatFields(p.Parent.PID)
	if err != nil {
		return nil, err
	}
	if d.exitSignal, err = strconv.ParseUint(own[statExitSignal], 10, 8); err != nil {
		return nil, fmt.Errorf("the signal that tells of the end of process %d: %w", p.PID, err)
	}
	// The same program at the same addresses, with the same arguments and environment: only fork(2)
	// makes that.
	programs, err := ofBoth(p, func(pid int) (string, error) {
		return os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	})
	if err != nil {
		return nil, err
	}
	if programs[0] != programs[1] || !slices.Equal(own[statStartData:statEnvEnd+1],
		parents[statStartData:statEnvEnd+1]) {
		return nil, incarnation.Refuse("process %d, which a peer has started, has executed a program, %s",
			p.PID, programs[0])
	}
	if own[statNice] != parents[statNice] {
		return nil, incarnation.Refuse("process %d has another priority than its parent", p.PID)
	}
	limits, err := ofBoth(p, func(pid int) (string, error) {
		text, err := procfs.Read(fmt.Sprintf("/proc/%d/limits", pid))
		return string(text), err
	})
	if err != nil {
		return nil, err
	}
	if limits[0] != limits[1] {
		return nil, incarnation.Refuse("process %d has other limits than its parent", p.PID)
	}
	return d, d.examineStatus(p.PID, p.Inner, p.status, p.Parent.status)
}

// ofBoth reads something of a process and of its parent, in this order.
func ofBoth(p *Frozen, read func(pid int) (string, error)) (both [2]string, err error) {
	for n, pid := range []int{p.PID, p.Parent.PID} {
		if both[n], err = read(pid); err != nil {
			return both, err
		}
	}
	return both, nil
}
