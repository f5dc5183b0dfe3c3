package tracer

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
)

// Semaphores, messages and memory of System V, and message queues of POSIX, belong to a
// namespace and not to processes: they live on when the peers go back. The memory backend
// refuses a group that has any, but for memory that processes are attached to.
//
// Only a thread that is in a namespace sees what it holds. The tracer enters that of its
// group, and stays: to go there and back at each checkpoint would take longer than to look.

// EnterIPC has the calling thread, a tracer's, enter the namespace of a process for interprocess
// communication. It returns the directory of its message queues, -1 if this Linux has none.
func EnterIPC(pid int) (queues int, err error) {
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/ipc", pid))
	if err != nil {
		return -1, err
	}
	defer namespace.Close()
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWIPC); err != nil {
		return -1, fmt.Errorf("enter the namespace of process %d for interprocess communication: %w", pid,
			err)
	}
	// A mount that nobody else sees: the thread has no place where it could look otherwise.
	context, err := unix.Fsopen("mqueue", unix.FSOPEN_CLOEXEC)
	if errors.Is(err, unix.ENODEV) {
		return -1, nil
	}
	if err == nil {
		defer unix.Close(context)
		err = unix.FsconfigCreate(context)
	}
	if err == nil {
		queues, err = unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, 0)
	}
	if err != nil {
		return -1, fmt.Errorf("open the directory of message queues of process %d: %w", pid, err)
	}
	return queues, nil
}

// ipcInfo has room for what the kernel tells of a namespace: an array of numbers whose meaning
// differs.
type ipcInfo [32]int32

// objectsOfSystemV are the kinds of objects: their name, the call that tells of all of them in the
// namespace of the calling thread, and which of its numbers says how many there are.
var objectsOfSystemV = []struct {
	name string
	ask  func(*ipcInfo) unix.Errno
	at   int
}{
	{"semaphores", func(i *ipcInfo) unix.Errno {
		const info = 19 // SEM_INFO
		_, _, errno := unix.RawSyscall6(unix.SYS_SEMCTL, 0, 0, info, uintptr(unsafe.Pointer(i)), 0, 0)
		return errno
	}, 7},
	{"message queues", func(i *ipcInfo) unix.Errno {
		const info = 12 // MSG_INFO
		_, _, errno := unix.RawSyscall(unix.SYS_MSGCTL, 0, info, uintptr(unsafe.Pointer(i)))
		return errno
	}, 0},
}

// RefuseIPC refuses a group whose namespace holds anything. It is called on the tracer's thread.
// The kernel counts objects for the namespace of the thread that asks.
func (t *Tracer) RefuseIPC() error {
	var info ipcInfo
	for _, kind := range objectsOfSystemV {
		switch errno := kind.ask(&info); {
		case errno == unix.ENOSYS: // not every Linux has them
		case errno != 0:
			return fmt.Errorf("count the System V %s of the group: %w", kind.name, errno)
		case info[kind.at] > 0:
			return incarnation.Refuse("the group has System V %s (%d)", kind.name, info[kind.at])
		}
	}
	return t.refuseQueues()
}

// refuseQueues refuses a group that has message queues of POSIX. One name is enough: it says which
// one is in the way.
func (t *Tracer) refuseQueues() error {
	if t.Queues < 0 {
		return nil
	}
	directory, err := unix.Openat(t.Queues, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the directory of the group's message queues: %w", err)
	}
	defer unix.Close(directory)
	var entries [1 << 10]byte
	n, err := unix.ReadDirent(directory, entries[:])
	if err != nil {
		return fmt.Errorf("list the group's message queues: %w", err)
	}
	if _, _, names := unix.ParseDirent(entries[:n], 1, nil); len(names) > 0 {
		return incarnation.Refuse("the group has a POSIX message queue, %s", names[0])
	}
	return nil
}
