package process

import (
	"bytes"
	"strconv"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// starved counts for how long a process could have run and did not, since others had its processor.
// On a busy machine that may be most of the time. The kernel knows it (/proc/PID/schedstat, the
// second number). Where it does not tell, nothing is counted.
type starved struct {
	armed int64 // when the time that counts has begun: see watchdog
	last  int64 // what the kernel had counted when it was asked last, ns
	total int64 // since armed, ns
}

// since returns for how long the process was kept waiting since it was armed. Now is what the
// kernel has counted so far. What the process had waited between its arming and the first call
// after it does not count, so the result may be too small.
func (s *starved) since(armed, now int64) int64 {
	if s.armed != armed {
		s.armed, s.total = armed, 0
	} else {
		s.total += max(now-s.last, 0) // it may be another process by now
	}
	s.last = now
	return s.total
}

// waitedOf is for how long a process has waited for a processor in all its life, ns; 0 if the
// kernel does not tell.
func waitedOf(r *procfs.Reader, pid int) int64 {
	text, err := r.Ran(pid)
	if err != nil {
		return 0
	}
	return waited([]byte(text))
}

// waited is the time that a process has waited for a processor, of the text of schedstat.
func waited(schedstat []byte) int64 {
	fields := bytes.Fields(schedstat)
	if len(fields) < 2 {
		return 0
	}
	ns, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return ns
}
