package proxy

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/netns"
)

// inNamespace marks the test binary that runs in a network namespace of its own, where
// every port is free and nothing of the tests gets out.
const inNamespace = "TANDEM_TEST_IN_NAMESPACE"

func TestMain(m *testing.M) {
	if os.Getenv(inNamespace) == "" {
		os.Exit(again())
	}
	if err := netns.LoopbackUp(); err != nil {
		fmt.Fprintln(os.Stderr, "bring up the loopback device:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func again() int {
	self := exec.Command("/proc/self/exe", os.Args[1:]...)
	self.Env = append(os.Environ(), inNamespace+"=1")
	self.Stdout, self.Stderr = os.Stdout, os.Stderr
	self.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Pdeathsig: unix.SIGKILL}
	if err := self.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "run the tests in a network namespace, as root:", err)
		return 1
	}
	return 0
}
