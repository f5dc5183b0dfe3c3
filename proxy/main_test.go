package proxy

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inNamespace marks the test binary that runs in a network namespace of its own, where
// every port is free and nothing of the tests gets out.
const inNamespace = "TANDEM_TEST_IN_NAMESPACE"

func TestMain(m *testing.M) {
	if os.Getenv(inNamespace) == "" {
		os.Exit(again())
	}
	if err := loopbackUp(); err != nil {
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

func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	device, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	device.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, device)
}
