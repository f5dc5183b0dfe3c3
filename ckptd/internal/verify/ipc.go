package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/osthread"
)

// Objects of System V belong to no process. What can be seen of them are lines in /proc/sysvipc,
// which show only those of the reader's own namespace.

// changingOfIPC are the columns of /proc/sysvipc that may differ: times, who was last, and where
// pages are. They tell what was done, and by whom, and not what the state is.
var changingOfIPC = []string{"otime", "ctime", "stime", "rtime", "atime", "dtime", "cpid", "lpid", "lspid",
	"lrpid", "rss", "swap", "nattch"}

// visibleIPC describes the System V objects in the namespace that a process is in. Only a thread in
// the namespace can look, so one enters it, and ends.
func visibleIPC(pid int) (state []string, err error) {
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/ipc", pid))
	if err != nil {
		return nil, err
	}
	defer namespace.Close()
	err = osthread.Run(func() error {
		if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWIPC); err != nil {
			return fmt.Errorf("enter the namespace of process %d for interprocess communication: %w", pid,
				err)
		}
		for _, kind := range []string{"sem", "msg", "shm"} {
			lines, err := visibleOfIPC(kind)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			state = append(state, lines...)
		}
		return nil
	})
	return state, err
}

// visibleOfIPC describes the objects of one kind in the namespace of the calling thread. The first
// line has the names of the columns, which differ from kind to kind.
func visibleOfIPC(kind string) (state []string, err error) {
	text, err := os.ReadFile("/proc/sysvipc/" + kind)
	if err != nil {
		return nil, err
	}
	var columns []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if columns == nil {
			columns = fields
			continue
		}
		described := "System V object:"
		for n, name := range columns[:min(len(columns), len(fields))] {
			if !slices.Contains(changingOfIPC, name) {
				described += fmt.Sprintf(" %s %s", name, fields[n])
			}
		}
		if kind == "sem" {
			values, err := semaphores(fields)
			if err != nil {
				return nil, err
			}
			described += fmt.Sprint(" values ", values)
		}
		state = append(state, described)
	}
	return state, nil
}

// semaphores are the values of a set, of which these are the fields in /proc/sysvipc/sem. They do
// not stand in /proc.
func semaphores(fields []string) ([]uint16, error) {
	const idColumn, countColumn, getAll = 1, 3, 13
	if len(fields) <= countColumn {
		return nil, fmt.Errorf("a line of %d fields in /proc/sysvipc/sem", len(fields))
	}
	id, err := strconv.Atoi(fields[idColumn])
	if err != nil {
		return nil, err
	}
	count, err := strconv.Atoi(fields[countColumn])
	if err != nil {
		return nil, err
	}
	values := make([]uint16, count+1) // at least one, to have an address
	_, _, errno := unix.Syscall6(unix.SYS_SEMCTL, uintptr(id), 0, getAll, uintptr(unsafe.Pointer(&values[0])),
		0, 0)
	if errno != 0 {
		return nil, fmt.Errorf("read the values of semaphore set %d: %w", id, errno)
	}
	return values[:count], nil
}
