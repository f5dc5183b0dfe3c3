package netns

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tandem-mc/tandem/internal/sys"
)

// newNetwork makes a network namespace for a test, and returns its inode, too.
func newNetwork(t *testing.T) (*os.File, uint64) {
	t.Helper()
	namespace, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { namespace.Close() })
	inode, err := sys.Inode(int(namespace.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return namespace, inode
}

// sleeper starts a process in a network. Whoever starts it is to wait for it.
func sleeper(t *testing.T, namespace *os.File) *exec.Cmd {
	t.Helper()
	c := exec.Command("sleep", "1000")
	if err := InFile(namespace, c.Start); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	return c
}

// TestNewNetwork: loopback is up, there is nothing else, and what is received is acknowledged at
// once.
func TestNewNetwork(t *testing.T) {
	namespace, _ := newNetwork(t)
	err := InFile(namespace, func() error {
		devices, err := net.Interfaces()
		if err != nil || len(devices) != 1 || devices[0].Name != "lo" || devices[0].Flags&net.FlagUp == 0 {
			t.Errorf("devices %+v, %v", devices, err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:80") // nobody else is there
		if err != nil {
			return err
		}
		defer l.Close()
		c, err := net.Dial("tcp", "127.0.0.1:80")
		if err != nil {
			return err
		}
		c.Close()
		routes, err := exec.Command("ip", "route", "show", "table", "local").CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip: %w: %s", err, routes)
		}
		for _, destination := range []string{"local 127.0.0.0/8 ", "local 127.0.0.1 "} {
			if _, route, ok := strings.Cut(string(routes), destination); !ok ||
				!strings.Contains(strings.SplitN(route, "\n", 2)[0], "quickack 1") {
				t.Errorf("%sis not a route with quick acknowledgements:\n%s", destination, routes)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestProcessesOfANetwork: those in other networks are not listed, and not those that have ended.
func TestProcessesOfANetwork(t *testing.T) {
	namespace, inode := newNetwork(t)
	elsewhere, _ := newNetwork(t)
	first, second, other := sleeper(t, namespace), sleeper(t, namespace), sleeper(t, elsewhere)
	want := []int{first.Process.Pid, second.Process.Pid}
	all, err := Processes(inode)
	if slices.Sort(all); err != nil || !slices.Equal(all, want) {
		t.Errorf("processes %v, want %v: %v", all, want, err)
	}
	if err := KillAll(inode, first.Process.Pid); err != nil {
		t.Error(err)
	}
	// The second has ended, although nobody has waited for it yet.
	if all, err = Processes(inode); err != nil || !slices.Equal(all, want[:1]) {
		t.Errorf("all but the first were killed, and %v are left: %v", all, err)
	}
	if n, err := Kill(inode, 0); n != 1 || err != nil {
		t.Errorf("%d processes were killed, %v", n, err)
	}
	if err := KillAll(inode, 0); err != nil {
		t.Error(err)
	}
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("a process in another network: %v", err)
	}
}
