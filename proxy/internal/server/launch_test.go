package server

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/proxy/internal/protocol"
)

// TestLookPath: a command is looked for in the PATH that the peer itself sees, the last one if it
// has several; a name with a slash is one from its own directory.
func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for name, mode := range map[string]os.FileMode{
		"a/tool": 0o755, "b/tool": 0o755, "b/other": 0o755, "a/plain": 0o644, "b/plain": 0o755,
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(a, "other"), 0o755); err != nil { // a directory can be executed, too
		t.Fatal(err)
	}
	path := "PATH=" + a + ":" + b
	for _, test := range []struct {
		name string
		env  []string
		want string // a file, or an error
	}{
		{"tool", []string{path}, a + "/tool"},
		{"tool", []string{"PATH=" + a, "PATH=" + b}, b + "/tool"},
		{"tool", []string{"PATH=" + b + "::" + a}, b + "/tool"},
		{"other", []string{path}, b + "/other"},
		{"plain", []string{path}, b + "/plain"},
		{"./tool", []string{path}, "./tool"},
		{a + "/tool", nil, a + "/tool"},
		{"none", []string{path}, `no command "none" in its PATH "` + a + ":" + b + `": install it, or ` +
			`name its file`},
		{"tool", nil, `no command "tool" in its PATH "": install it, or name its file`},
		{"tool", []string{"PATHS=" + a}, `no command "tool" in its PATH "": install it, or name its file`},
		{"./none", []string{path}, "execute ./none: no such file or directory"},
		{"", []string{path}, "it has no command: give it one"},
	} {
		got, err := lookPath(protocol.Command{Args: []string{test.name, "-x"}, Env: test.env, Dir: a})
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%q in %q: %q, want %q", test.name, test.env, got, test.want)
		}
	}
	if _, err := lookPath(protocol.Command{}); err == nil || err.Error() != "it has no command: give it one" {
		t.Errorf("no words at all: %v", err)
	}
}

// TestAttributes: a peer has a session of its own, and stands still when it begins. One of another
// user keeps what it takes to make it again.
func TestAttributes(t *testing.T) {
	for name, test := range map[string]struct {
		command protocol.Command
		user    *syscall.Credential
		keeps   []uintptr
	}{
		"root": {protocol.Command{}, nil, nil},
		"a user": {protocol.Command{UID: 33, GID: 44, Groups: []uint32{5, 6}},
			&syscall.Credential{Uid: 33, Gid: 44, Groups: []uint32{5, 6}}, []uintptr{unix.CAP_SYS_ADMIN}},
		"root in another group": {protocol.Command{GID: 44}, &syscall.Credential{Gid: 44}, nil},
		"root in more groups": {protocol.Command{Groups: []uint32{7}},
			&syscall.Credential{Groups: []uint32{7}}, nil},
	} {
		a := attributesOf(test.command)
		if !a.Setsid || !a.Ptrace || !slices.Equal(a.AmbientCaps, test.keeps) ||
			(a.Credential == nil) != (test.user == nil) {
			t.Errorf("%s: %+v", name, a)
		}
		if u := test.user; u != nil && (a.Credential.Uid != u.Uid || a.Credential.Gid != u.Gid ||
			!slices.Equal(a.Credential.Groups, u.Groups)) {
			t.Errorf("%s: %+v, want %+v", name, a.Credential, u)
		}
	}
}

// TestProcessIDsOfPeers: each peer has room for what it starts at once before the ID of the next.
func TestProcessIDsOfPeers(t *testing.T) {
	if pidOf(0) != firstPID {
		t.Errorf("the first peer has %d", pidOf(0))
	}
	for i := range protocol.MaxPeers {
		if pidOf(i+1)-pidOf(i) != pidsPerPeer || pidOf(i) <= 1 {
			t.Errorf("peer %d has %d, and the next %d", i, pidOf(i), pidOf(i+1))
		}
	}
}

// TestHolders: an error about a process ID says who has it.
func TestHolders(t *testing.T) {
	if got := holderOf(unix.Gettid()); got != "a thread of the proxy" {
		t.Errorf("this thread is %q", got)
	}
	name, err := os.ReadFile("/proc/1/comm")
	if err != nil {
		t.Fatal(err)
	}
	if got := holderOf(1); got != strings.TrimSpace(string(name)) {
		t.Errorf("process 1 is %q, want %q", got, name)
	}
	if got := holderOf(1 << 30); got != "somebody else" {
		t.Errorf("nobody is %q", got)
	}
}

// TestReadAll: a file is read to its end, also one that says that it is empty; one that is too long
// is refused.
func TestReadAll(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	for _, n := range []int{0, 1, 8 << 10, 8<<10 + 1, 100_000} {
		text := strings.Repeat("x", n)
		testkit.WriteFile(t, file, text)
		if b, err := readAll(file, 100_000); err != nil || string(b) != text {
			t.Errorf("%d bytes: %d are read, %v", n, len(b), err)
		}
		if b, err := readAll(file, n); err != nil || len(b) != n {
			t.Errorf("%d bytes of so many: %d are read, %v", n, len(b), err)
		}
		if b, err := readAll(file, n-1); n > 0 && (err == nil || b != nil ||
			!strings.Contains(err.Error(), "is longer than")) {
			t.Errorf("one byte more than allowed: %d are read, %v", len(b), err)
		}
	}
	if b, err := readAll("/proc/self/status", 1<<20); err != nil || !strings.HasPrefix(string(b), "Name:") {
		t.Errorf("%q, %v", b, err)
	}
	for path, want := range map[string]error{"/nowhere/file": os.ErrNotExist, "/": unix.EISDIR} {
		var named *os.PathError
		if _, err := readAll(path, 10); !errors.Is(err, want) || !errors.As(err, &named) ||
			named.Path != path {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestConfigurationsAreRead: what was written is read, and as many peers and mounts as there may
// be.
func TestConfigurationsAreRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	testkit.WriteFile(t, file, `{"Root":"/r","Hostname":"h","Peers":[{"Name":"a","Args":["x","y"],"UID":7}],`+
		`"Mounts":[{"Source":"/s","Target":"/t"}]}`)
	c, err := readConfig(file)
	if err != nil || c.Root != "/r" || c.Hostname != "h" || len(c.Peers) != 1 || c.Peers[0].UID != 7 ||
		!slices.Equal(c.Peers[0].Args, []string{"x", "y"}) ||
		c.Mounts[0] != (protocol.Mount{Source: "/s", Target: "/t"}) {
		t.Errorf("%+v, %v", c, err)
	}
	list := func(length int) string { return "{}" + strings.Repeat(",{}", length-1) }
	most := list(protocol.MaxMounts)
	testkit.WriteFile(t, file, `{"Mounts":[`+most+`],"Peers":[`+list(protocol.MaxPeers)+`]}`)
	if _, err := readConfig(file); err != nil {
		t.Error(err)
	}
	testkit.WriteFile(t, file, `{"Mounts":[`+most+`,{}]}`)
	if _, err := readConfig(file); err == nil || !strings.Contains(err.Error(), "or 256 mounts") {
		t.Errorf("%v", err)
	}
}

// TestErrnos: the reply has the number of what a system call says, however that is wrapped.
func TestErrnos(t *testing.T) {
	for _, err := range []error{unix.EINVAL, os.NewSyscallError("bind", unix.EINVAL),
		&os.PathError{Err: unix.EINVAL}} {
		if got := errnoOf(err); got != unix.EINVAL {
			t.Errorf("%v is %d", err, got)
		}
	}
	if got := errnoOf(nil); got != 0 {
		t.Errorf("no error is %d", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("an error of the server itself is taken for one of the kernel")
		}
	}()
	errnoOf(errors.New("another"))
}

// slowRefused says which system calls are refused, by their names.
func slowRefused(getrandom bool, number, architecture uint32) bool {
	switch number {
	case unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER:
		return true
	case unix.SYS_IO_SETUP:
		return architecture == unix.AUDIT_ARCH_X86_64
	case unix.SYS_GETRANDOM:
		return architecture == unix.AUDIT_ARCH_X86_64 && getrandom
	}
	return false
}

// TestFilterTwin: the filter refuses the calls that it is to, of all that there are, and no others.
// It grants one, where it is to.
func TestFilterTwin(t *testing.T) {
	for _, c := range []struct{ getrandom, setgroups bool }{{}, {true, false}, {false, true}, {true, true}} {
		filter := refused(c.getrandom, c.setgroups)
		for number := range uint32(600) {
			for _, architecture := range []uint32{unix.AUDIT_ARCH_X86_64, unix.AUDIT_ARCH_I386} {
				want := uint32(unix.SECCOMP_RET_ALLOW)
				switch {
				case slowRefused(c.getrandom, number, architecture):
					want = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
				case c.setgroups && number == unix.SYS_SETGROUPS && architecture == unix.AUDIT_ARCH_X86_64:
					want = unix.SECCOMP_RET_ERRNO
				}
				if got := run(t, filter, number, architecture); got != want {
					t.Errorf("call %d of %#x, %+v: %#x", number, architecture, c, got)
				}
			}
		}
	}
}

// TestLocalPorts: the port of a connection follows from its ID, stays within its range, and is
// another one for each of as many IDs as there are ports.
func TestLocalPorts(t *testing.T) {
	if firstLocalPort+localPorts > 1<<16 {
		t.Fatalf("ports %d to %d", firstLocalPort, firstLocalPort+localPorts)
	}
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Uint64Range(0, 1<<32-1).Draw(t, "id")
		seen := map[uint64]bool{}
		for attempt := range uint64(portAttempts) {
			port := firstLocalPort + (id+attempt*portStride)%localPorts
			if port < firstLocalPort || port >= firstLocalPort+localPorts || seen[port] {
				t.Fatalf("attempt %d of socket %d is port %d, after %v", attempt, id, port, seen)
			}
			seen[port] = true
		}
	})
}

// TestSocketsOfAllKinds: each network has its kind of socket, one of IPv6 alone is that, and a
// socket that exists is handed out again as it is.
func TestSocketsOfAllKinds(t *testing.T) {
	s, _ := newServer(t)
	for i, test := range []struct {
		address      string
		domain, kind int
	}{
		{"", unix.AF_INET, unix.SOCK_STREAM}, {"127.0.0.1:80", unix.AF_INET, unix.SOCK_STREAM},
		{"[::1]:80", unix.AF_INET6, unix.SOCK_STREAM}, {"tcp6 [::]:80", unix.AF_INET6, unix.SOCK_STREAM},
		{"udp 127.0.0.1:53", unix.AF_INET, unix.SOCK_DGRAM}, {"unix /run/x", unix.AF_UNIX, unix.SOCK_STREAM},
		{"unixgram @x", unix.AF_UNIX, unix.SOCK_DGRAM}, {"unixpacket /run/x", unix.AF_UNIX,
			unix.SOCK_SEQPACKET},
	} {
		var a protocol.Address
		if test.address != "" {
			var err error
			if a, err = protocol.ParseAddress(test.address); err != nil {
				t.Fatal(err)
			}
		}
		c := protocol.Request{Op: protocol.OpCreateSocket, ID: protocol.ID(i), Address: a}
		r, fd := s.execute(c)
		if r != (protocol.Reply{}) {
			t.Fatalf("%s: %+v", test.address, r)
		}
		option := func(level, name int) int {
			n, err := unix.GetsockoptInt(fd, level, name)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if d, k := option(unix.SOL_SOCKET, unix.SO_DOMAIN), option(unix.SOL_SOCKET,
			unix.SO_TYPE); d != test.domain ||
			k != test.kind {
			t.Errorf("%q is a socket of %d, %d; want %d, %d", test.address, d, k, test.domain, test.kind)
		}
		if test.domain == unix.AF_INET6 {
			if only := option(unix.IPPROTO_IPV6, unix.IPV6_V6ONLY); (only == 1) != a.OnlySix {
				t.Errorf("%q is of IPv6 alone: %d", test.address, only)
			}
		}
		if _, again := s.execute(c); again != fd {
			t.Errorf("%q is another one when it is asked for again", test.address)
		}
	}
	s.Close()
	if len(s.sockets) != 0 {
		t.Errorf("%d sockets are left", len(s.sockets))
	}
}
