package peers

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestProcfsOfThisProcess(t *testing.T) {
	var p procfs
	pid := os.Getpid()
	if s, err := p.stat(pid); err != nil || !strings.HasPrefix(s.command, "peers.test") || !strings.ContainsRune("RS", rune(s.state)) {
		t.Errorf("%+v, %v", s, err)
	}
	if inner, err := p.innerPID(pid); err != nil || inner != pid {
		t.Errorf("%d, %v", inner, err)
	}
	if threads, err := p.threads(pid); err != nil || !slices.Contains(threads, pid) || len(threads) < 2 {
		t.Errorf("%v, %v", threads, err)
	}
	if ran, err := p.ran(pid); err != nil || len(strings.Fields(ran)) != 3 {
		t.Errorf("%q, %v", ran, err)
	}
	const nobody = 1<<22 + 1 // above every pid
	for name, call := range map[string]func() error{
		"stat":     func() error { _, err := p.stat(nobody); return err },
		"threads":  func() error { _, err := p.threads(nobody); return err },
		"children": func() error { _, err := p.children(nobody, nobody); return err },
		"ran":      func() error { _, err := p.ran(nobody); return err },
		"wchan":    func() error { _, err := p.waitChannel(nobody); return err },
		"innerPID": func() error { _, err := p.innerPID(nobody); return err },
	} {
		if err := call(); !errors.Is(err, errGone) {
			t.Errorf("%s of nobody: %v", name, err)
		}
	}
}

// TestChildren has a process listed while the one that comes before it is waited for. With the kernel's list alone it fails: that
// may leave out the next one.
func TestChildren(t *testing.T) {
	err := OnThread(func() error {
		const rounds, early = 40, 25
		for range rounds {
			var ended []int
			for range early {
				pid, err := start("true")
				if err != nil {
					return err
				}
				ended = append(ended, pid)
			}
			last, err := start("sleep", "100")
			if err == nil {
				err = errors.Join(listedWhile(last, func() {
					for _, pid := range slices.Backward(ended) {
						unix.Wait4(pid, nil, 0, nil)
					}
				}), unix.Kill(last, unix.SIGKILL))
				unix.Wait4(last, nil, 0, nil)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// listedWhile returns an error if a child of this thread is missing in a list of its children while f runs.
func listedWhile(pid int, f func()) error {
	var done atomic.Bool
	go func() {
		defer done.Store(true)
		f()
	}()
	var missed error
	var p procfs
	for self := unix.Gettid(); !done.Load(); {
		all, err := p.children(os.Getpid(), self)
		if err != nil || !slices.Contains(all, pid) {
			missed = fmt.Errorf("a list lacks %d: %v, %w", pid, all, err)
		}
	}
	return missed
}

// TestManyChildren has more children than the kernel lists at once.
func TestManyChildren(t *testing.T) {
	err := OnThread(func() error {
		var want []int
		for range 1200 {
			pid, err := start("true") // it may end, but is not waited for
			if err != nil {
				return err
			}
			defer unix.Wait4(pid, nil, 0, nil)
			want = append(want, pid)
		}
		var p procfs
		got, err := p.children(os.Getpid(), unix.Gettid())
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("%d children, want %d", len(got), len(want))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// start starts a program, which the caller waits for.
func start(name string, arguments ...string) (pid int, err error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return 0, err
	}
	return syscall.ForkExec(path, append([]string{name}, arguments...), &syscall.ProcAttr{})
}

func TestParseStat(t *testing.T) {
	s, err := parseStat([]byte("12 (a) b (c) Z 1 12 12 0 -1 4194316 9\n"))
	if err != nil || s.command != "a) b (c" || s.state != 'Z' || s.status != 9 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{"", "12", "12 (", "12 )(", "12 (a)", "12 (a) ", "()  ", "1 (a) Z x"} {
		if s, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q is %+v", bad, s)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("12 (sh) S 1 12 12 0 -1 4194316 0"))
	f.Add([]byte("12 (a) b (c) Z 1 9"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := parseStat(b); err == nil && !strings.Contains(string(b), "("+s.command+")") {
			t.Errorf("%q has the command %q", b, s.command)
		}
	})
}

func port(n uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), n)
}

// owned says of sockets whose they are, by inode.
type owned struct{ checker, deferring uint32 }

func (o owned) isChecker(inode uint32) bool { return inode == o.checker }
func (o owned) defers(listener uint32) bool { return listener == o.deferring }

func TestTraffic(t *testing.T) {
	listener := socket{state: tcpListen, local: port(80), inode: 1}
	here := socket{state: tcpEstablished, local: port(80), remote: port(9), inode: 2}
	there := socket{state: tcpEstablished, local: port(9), remote: port(80), inode: 3}
	with := func(s socket, change func(*socket)) socket {
		change(&s)
		return s
	}
	const closeWait, finWait2 = 8, 5
	half := with(here, func(s *socket) { s.state, s.inode = tcpSynRecv, 0 })
	for want, all := range map[string][]socket{
		"": {listener, here, there},
		"a connection from 127.0.0.1:80 to 127.0.0.1:9 is being made": {with(here, func(s *socket) { s.state = tcpSynSent })},
		"a connection from 127.0.0.1:9 to 127.0.0.1:80 is being made": {with(there, func(s *socket) { s.state = tcpNewSynRecv })},
		"a connection from 127.0.0.1:80 to 127.0.0.1:9 is being made, and the backlog of the listener is full (3)": {
			half, there, with(listener, func(s *socket) { s.unread, s.unsent = 3, 2 })},
		"5 bytes from 127.0.0.1:80 to 127.0.0.1:9 are under way":                  {with(here, func(s *socket) { s.unsent = 5 }), there},
		"the end of the connection from 127.0.0.1:9 to 127.0.0.1:80 is under way": {listener, here},
		"6 bytes from 127.0.0.1:9 to 127.0.0.1:80 are not read":                   {with(here, func(s *socket) { s.inode, s.unread = 7, 6 }), there},
	} {
		if got := trafficOf(all, owned{checker: 7}).underWay; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	deferring := with(listener, func(s *socket) { s.inode = 8 })
	for want, all := range map[string][]socket{
		"": {listener, here, there},
		"3 connections to 127.0.0.1:80 wait to be accepted":                                                       {with(listener, func(s *socket) { s.unread = 3 })},
		"6 bytes from 127.0.0.1:80 to 127.0.0.1:9 are not read":                                                   {here, with(there, func(s *socket) { s.unread = 6 })},
		"the connection from 127.0.0.1:9 to 127.0.0.1:80 waits for data, since its listener has TCP_DEFER_ACCEPT": {deferring, half, there},
	} {
		if got := trafficOf(all, owned{deferring: 8}); got.waiting != want || got.underWay != "" {
			t.Errorf("%+v, want that %q", got, want)
		}
	}
	for name, all := range map[string][]socket{
		"the listener takes connections at once": {listener, half, there},
		"the client has it not made":             {deferring, half, with(there, func(s *socket) { s.state = tcpSynSent })},
		"there is no listener any more":          {half, there},
	} {
		if got := trafficOf(all, owned{deferring: 8}); got.waiting != "" || got.underWay == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for name, all := range map[string][]socket{
		"half closed": {with(here, func(s *socket) { s.state = finWait2 }), with(there, func(s *socket) { s.state = closeWait })},
		"orphaned":    {with(here, func(s *socket) { s.state, s.inode, s.unread = finWait2, 0, 7 })},
		"closed":      {{state: tcpClose, unread: 7}},
		"none":        nil,
	} {
		if got := trafficOf(all, unknownOwners{}); got != (traffic{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestListens(t *testing.T) {
	everywhere := netip.MustParseAddrPort("0.0.0.0:80")
	six := netip.MustParseAddrPort("[::]:80")
	for _, test := range []struct {
		socket socket
		want   bool
	}{
		{socket{state: tcpListen, local: port(80)}, true},
		{socket{state: tcpListen, local: everywhere}, true},
		{socket{state: tcpListen, local: six}, true},
		{socket{state: tcpListen, local: port(81)}, false},
		{socket{state: tcpListen, local: netip.MustParseAddrPort("127.0.0.2:80")}, false},
		{socket{state: tcpEstablished, local: port(80)}, false},
	} {
		if got := listens([]socket{test.socket}, port(80)); got != test.want {
			t.Errorf("%+v: %t", test.socket, got)
		}
	}
}

// netlinkMessage is a message as the kernel sends it.
// TestSocketsThatMatter lists those that something can be under way to, and not one that is only bound.
func TestSocketsThatMatter(t *testing.T) {
	d, err := openDiagnosis(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	open := func() int {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	inode := func(fd int) uint32 {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			t.Fatal(err)
		}
		return uint32(st.Ino)
	}
	bound, listening, connected := open(), open(), open()
	if err := unix.Listen(listening, 1); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(listening)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Connect(connected, at); err != nil {
		t.Fatal(err)
	}
	all, err := d.sockets()
	if err != nil {
		t.Fatal(err)
	}
	states := map[uint32]uint8{}
	for _, s := range all {
		states[s.inode] = s.state
	}
	if states[inode(listening)] != tcpListen || states[inode(connected)] != tcpEstablished {
		t.Errorf("states %v; %d listens, %d is connected", states, inode(listening), inode(connected))
	}
	if state, listed := states[inode(bound)]; listed {
		t.Errorf("a socket that is only bound is listed, in state %d", state)
	}
}

func netlinkMessage(kind uint16, body []byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(16+len(body)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	return append(append(b, make([]byte, 10)...), body...)
}

func TestParseSockets(t *testing.T) {
	six := make([]byte, replySize)
	six[0], six[1] = unix.AF_INET6, tcpEstablished
	binary.BigEndian.PutUint16(six[4:], 80)
	binary.BigEndian.PutUint16(six[6:], 9)
	copy(six[8:], netip.MustParseAddr("::ffff:127.0.0.1").AsSlice())
	copy(six[24:], netip.MustParseAddr("::1").AsSlice())
	binary.NativeEndian.PutUint32(six[56:], 1)
	binary.NativeEndian.PutUint32(six[60:], 2)
	binary.NativeEndian.PutUint32(six[68:], 3)
	both := append(netlinkMessage(tcpDiagGetSock, six), netlinkMessage(unix.NLMSG_DONE, make([]byte, 4))...)
	all, done, err := parseSockets(both)
	want := socket{tcpEstablished, port(80), netip.MustParseAddrPort("[::1]:9"), 1, 2, 3}
	if err != nil || !done || len(all) != 1 || all[0] != want {
		t.Errorf("%+v, %t, %v", all, done, err)
	}
	refused := make([]byte, 20)
	errno := -int32(unix.EPERM)
	binary.NativeEndian.PutUint32(refused, uint32(errno))
	if _, _, err := parseSockets(netlinkMessage(unix.NLMSG_ERROR, refused)); !errors.Is(err, unix.EPERM) {
		t.Errorf("%v", err)
	}
	for _, bad := range [][]byte{netlinkMessage(7, nil), netlinkMessage(tcpDiagGetSock, six[:replySize-1]), both[:30], make([]byte, 16)} {
		if all, _, err := parseSockets(bad); err == nil {
			t.Errorf("%x is %+v", bad, all)
		}
	}
}

func FuzzParseSockets(f *testing.F) {
	f.Add(netlinkMessage(tcpDiagGetSock, make([]byte, replySize)))
	f.Add(netlinkMessage(unix.NLMSG_DONE, nil))
	f.Add(netlinkMessage(unix.NLMSG_ERROR, make([]byte, 4)))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, _, _ := parseSockets(b)
		if len(all)*(16+replySize) > len(b) {
			t.Errorf("%d sockets in %d bytes", len(all), len(b))
		}
		trafficOf(all, unknownOwners{})
	})
}

// TestWhoWaitsForInput: the state S alone does not say that a thread has gone to sleep.
func TestWhoWaitsForInput(t *testing.T) {
	for _, test := range []struct {
		state   byte
		channel string
		want    bool
	}{
		{'S', "do_epoll_wait", true},
		{'S', "pipe_read", true},
		{'S', "0", false},
		{'R', "0", false},
		{'D', "folio_wait_bit_common", false},
		{'S', "hrtimer_nanosleep", true},
		{'S', "anon_pipe_write", false},
		{'T', "do_signal_stop", false},
	} {
		if got := waitsForInput(test.state, test.channel); got != test.want {
			t.Errorf("state %c, wait channel %s: waits for input %t", test.state, test.channel, got)
		}
	}
}

// TestKeptFiles: what is kept open of a process that has ended is not taken for what is there of the
// next one with its pid.
func TestKeptFiles(t *testing.T) {
	var p procfs
	p.keepOpen()
	defer p.close()
	look := func(pid int) (command string, children int, err error) {
		t.Helper()
		tids, err := p.threads(pid)
		if err != nil {
			return "", 0, err
		}
		if len(tids) != 1 || tids[0] != pid {
			t.Fatalf("its threads are %v", tids)
		}
		s, err := p.stat(pid)
		if err != nil {
			return "", 0, err
		}
		list, err := p.children(pid, pid)
		return s.command, len(list), err
	}
	run := func(command ...string) (pid int, end func()) {
		cmd := exec.Command(command[0], command[1:]...)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd.Process.Pid, sync.OnceFunc(func() { in.Close(); cmd.Wait() })
	}
	const attempts = 1000
	for range attempts {
		pid, end := run("cat")
		awaitCommand := func(want string, children int) {
			for command, n := "", 0; command != want || n != children; {
				var err error
				if command, n, err = look(pid); err != nil {
					t.Fatal(err)
				}
			}
		}
		awaitCommand("cat", 0)
		kept := len(p.kept)
		if end(); kept != 3 {
			t.Fatalf("%d files are kept open, not 3", kept)
		}
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0); err != nil {
			t.Fatal(err)
		}
		again, end := run("sh", "-c", "cat <&0 & wait")
		defer end()
		if again == pid { // else somebody else was faster
			awaitCommand("sh", 1)
			end()
			if _, _, err := look(pid); err != errGone || len(p.kept) != 0 {
				t.Errorf("at the end: %v, and %d files are kept", err, len(p.kept))
			}
			return
		}
		if end(); len(p.kept) > 0 {
			p.close()
			p.keepOpen()
		}
	}
	t.Fatalf("in %d attempts no process has got the pid of the one before it", attempts)
}
