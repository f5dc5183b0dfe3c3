package ckptd

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/proxy"
)

// pidOf translates a pidfd to a pid of this process's namespace, which the kernel shows in fdinfo.
func pidOf(pidfd int) (int, error) {
	b, err := procfs.Read("/proc/self/fdinfo/" + strconv.Itoa(pidfd))
	if err != nil {
		return 0, err
	}
	return pidIn(b)
}

// errElsewhere is the error of processes that this one cannot follow.
var errElsewhere = errors.New("its processes are in another pid namespace: in containers, run the check " +
	"in that of the daemon (docker run --pid container:NAME)")

// pidIn reads the pid in the fdinfo of a pidfd, where the kernel has 0 for a process of another
// namespace, and -1 for one that has ended.
func pidIn(fdinfo []byte) (int, error) {
	for line := range bytes.Lines(fdinfo) {
		if value, ok := bytes.CutPrefix(line, []byte("Pid:")); ok {
			pid, err := strconv.Atoi(string(bytes.TrimSpace(value)))
			switch {
			case err != nil || pid < 0:
				return 0, proxy.ErrDied
			case pid == 0:
				return 0, errElsewhere
			}
			return pid, nil
		}
	}
	return 0, errors.New("a pidfd does not tell its pid: tandem needs Linux 5.10 or later")
}
