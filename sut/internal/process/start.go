package process

import (
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// Arguments of personality(2).
const (
	noRandomAddresses = 0x0040000  // ADDR_NO_RANDOMIZE
	onlyAsk           = 0xffffffff // changes nothing
)

// startOnThread starts a process from a thread that lives until stop is closed: the kernel takes
// the end of the thread for that of the parent. Each process has its arguments at the same
// addresses, since the trace of a panic shows these. Where the addresses cannot be fixed, outputs
// may differ, and whoever notices that says so. The personality is put back, since the thread goes
// back to the pool of the runtime.
func startOnThread(process *exec.Cmd, stop <-chan struct{}) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		before, _, errno := unix.RawSyscall(unix.SYS_PERSONALITY, onlyAsk, 0, 0)
		if errno == 0 {
			unix.RawSyscall(unix.SYS_PERSONALITY, before|noRandomAddresses, 0, 0)
		}
		err := process.Start()
		if errno == 0 {
			unix.RawSyscall(unix.SYS_PERSONALITY, before, 0, 0)
		}
		started <- err
		<-stop
	}()
	return <-started
}
