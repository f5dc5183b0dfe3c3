package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// roleVariable makes the test binary a peer: see roles.
const roleVariable = "TANDEM_TEST_ROLE"

var proxyBinary string

func TestMain(m *testing.M) {
	if role, ok := os.LookupEnv(roleVariable); ok {
		play(role)
		return
	}
	os.Exit(func() int {
		directory, err := os.MkdirTemp("", "tandem-peers-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(directory)
		proxyBinary = filepath.Join(directory, "tandem-proxy")
		build := exec.Command("go", "build", "-ldflags=-w", "-o", proxyBinary, "../../cmd/proxy")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the proxy: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

const testPort = 2000

var testAddress = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), testPort)

// roles are servers that are more or less easy to tell quiescent. Each gets the
// connections to testPort, one goroutine for each.
var roles = map[string]func(net.Conn){
	// One answer for each byte, after some work and through another process.
	"answer": answer,
	// Answers after having slept in the kernel.
	"sleeper": sleeper(func() {
		t := unix.NsecToTimespec(20e6)
		unix.Nanosleep(&t, nil)
	}),
	"sleeper by poll":  sleeper(func() { unix.Poll(nil, 20) }),
	"sleeper by ppoll": sleeper(func() { unix.Ppoll(nil, &unix.Timespec{Nsec: 20e6}, nil) }),
	"sleeper by select": sleeper(func() {
		unix.Select(0, nil, nil, nil, &unix.Timeval{Usec: 20_000})
	}),
	"sleeper by select of no set": sleeper(func() {
		unix.Select(16, nil, nil, nil, &unix.Timeval{Usec: 20_000})
	}),
	"sleeper by pselect": sleeper(func() {
		unix.Pselect(0, nil, nil, nil, &unix.Timespec{Nsec: 20e6}, nil)
	}),
	// Never stops running once it got something.
	"spinner": func(c net.Conn) {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			//lint:ignore SA5002 it is to spin
			for {
			}
		}
	},
	// The same, in several threads by turns.
	"relay": func(c net.Conn) {
		if _, err := c.Read(make([]byte, 1)); err != nil {
			return
		}
		runners := [3]chan bool{make(chan bool), make(chan bool), make(chan bool)}
		for i, turn := range runners {
			go func() {
				runtime.LockOSThread()
				for range turn {
					for end := time.Now().Add(300 * time.Microsecond); time.Now().Before(end); {
					}
					runners[(i+1)%len(runners)] <- true
				}
			}()
		}
		runners[0] <- true
		select {}
	},
	"deaf": func(net.Conn) { select {} },
	// Greets whoever connects, and answers each byte.
	"greeter": greetAll,
	// The same, but accepts connections only once there are data on them.
	"deferring": greetAll,
	// Ends as the byte that it gets says; k is for killed.
	"mortal": func(c net.Conn) {
		b := make([]byte, 1)
		c.Read(b)
		if b[0] == 'k' {
			unix.Kill(os.Getpid(), unix.SIGKILL)
		}
		os.Exit(int(b[0]))
	},
	// Has a child that ends at every byte.
	"parent": func(c net.Conn) {
		b := make([]byte, 1)
		for {
			if _, err := c.Read(b); err != nil {
				return
			}
			exec.Command("sh", "-c", "exit 5").Run()
			c.Write([]byte("done"))
		}
	},
	// Wakes up by a time-out, all the time, from the first byte on.
	"ticker": func(c net.Conn) {
		c.Read(make([]byte, 1))
		runtime.LockOSThread()
		unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
		for {
			unix.Ppoll(nil, &unix.Timespec{Nsec: 7000}, nil)
		}
	},
	// Starts a periodic timer, and then never rests.
	"timer": func(c net.Conn) {
		c.Read(make([]byte, 1))
		fd, _ := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, 0)
		unix.TimerfdSettime(
			fd,
			0,
			&unix.ItimerSpec{Interval: unix.Timespec{Nsec: 250e6}, Value: unix.Timespec{Sec: 1}},
			nil,
		)
		//lint:ignore SA5002 it is to spin
		for {
		}
	},
	// Ends a thread at the first byte.
	"thread": func(c net.Conn) {
		osthread.Run(func() error {
			name := []byte(endingThread + "\x00")
			unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0)
			_, err := c.Read(make([]byte, 1))
			return err
		})
	},
	// Resets the connection at the first byte.
	"resetter": func(c net.Conn) {
		c.Read(make([]byte, 1))
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	},
}

// greetAll sends a greeting, and "done" for each byte until the connection ends.
func greetAll(c net.Conn) {
	c.Write([]byte("hello"))
	sleeper(func() {})(c)
	c.Close()
}

func sleeper(sleep func()) func(net.Conn) {
	return func(c net.Conn) {
		b := make([]byte, 1)
		for {
			if _, err := c.Read(b); err != nil {
				return
			}
			sleep()
			c.Write([]byte("done"))
		}
	}
}

// endingThread is the name of the thread in role "thread".
const endingThread = "ending"

// play is the life of a peer.
func play(role string) {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "role", role+":", err)
			os.Exit(1)
		}
	}
	if role == "crowd" {
		crowd()
	}
	fail(netns.LoopbackUp())
	serve := roles[role]
	if role == "dead" {
		os.Exit(3)
	}
	l, err := net.Listen("tcp4", testAddress.String())
	fail(err)
	switch role {
	case "closed": // does not accept
		select {}
	case "deferring":
		fail(deferAccept(l))
	}
	if role == "one at a time" { // works off one client before it accepts the next
		serve = nil
	}
	for {
		c, err := l.Accept()
		fail(err)
		if serve == nil {
			greetAll(c)
			continue
		}
		go serve(c)
	}
}

func deferAccept(l net.Listener) error {
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, 30)
	})
	return errors.Join(err, failed)
}

// crowd is a process of many threads that wait, once it has written a byte.
func crowd() {
	const threads = 30
	var started sync.WaitGroup
	for range threads {
		started.Add(1)
		go osthread.Run(func() error {
			started.Done()
			return unix.Pause()
		})
	}
	started.Wait()
	os.Stdout.Write([]byte{0})
	unix.Pause()
}

// answer sends the byte through `cat` and back before it answers "<byte>;".
func answer(c net.Conn) {
	cat := exec.Command("cat")
	in, err := cat.StdinPipe()
	if err != nil {
		return
	}
	out, err := cat.StdoutPipe()
	if err != nil || cat.Start() != nil {
		return
	}
	b := make([]byte, 1)
	for {
		if _, err := c.Read(b); err != nil {
			in.Close()
			cat.Wait()
			c.Close()
			return
		}
		for end := time.Now().Add(time.Duration(b[0]%8) * 200 * time.Microsecond); time.Now().Before(end); {
		}
		if _, err := in.Write(b); err != nil {
			return
		}
		if _, err := io.ReadFull(out, b); err != nil {
			return
		}
		fmt.Fprintf(c, "%d;", b[0])
	}
}

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// run runs a peer in a role under the real proxy, in namespaces of its own.
func run(t testing.TB, role string) (*Watch, *proxy.Client) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	config := proxy.Config{
		Root: filepath.Join(
			directory,
			"root",
		), Executable: proxyBinary, File: filepath.Join(directory, "config.json"),
		Peers: []proxy.Command{
			{
				Name: role,
				Args: []string{self},
				Env:  []string{roleVariable + "=" + role, "PATH=" + os.Getenv("PATH")},
				Dir:  "/",
			},
		},
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(config.File, text, 0o600), os.Mkdir(config.Root, 0o755)); err != nil {
		t.Fatal(err)
	}
	pair, err := seqpacket.Pair()
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "channel")
	defer theirs.Close()
	// The proxy and the peer are where temporary files are, which may be a mount of its own.
	const shell = `mount --make-rprivate / && mount --bind / "$1" && mount --bind /dev "$1/dev" &&
		mount --bind "$4" "$1$4" && exec "$2" mount "$3"`
	c := exec.Command("sh", "-c", shell, "sh", config.Root, proxyBinary, config.File, os.TempDir())
	c.ExtraFiles = []*os.File{theirs}
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWUTS,
	}
	if err := c.Start(); err != nil {
		t.Fatalf("run a peer in namespaces, as root: %v", err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	pids, err := proxy.ReceiveHello(testContext(t), pair[0])
	if err != nil {
		t.Fatal(err)
	}
	client, err := proxy.NewClient(os.NewFile(uintptr(pair[0]), "channel"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Disconnect() })
	w, err := New(
		c.Process.Pid,
		[]peers.Process{{Peer: peers.Peer{Name: role, Listen: testAddress.String()}, PID: pids[0]}},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w, client
}

// connect waits for the peer to be ready and connects to it.
func connect(t testing.TB, w *Watch, c *proxy.Client) (fd int) {
	t.Helper()
	ctx := testContext(t)
	if err := w.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	fd, err := c.CreateSocket(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := c.Connect(ctx, 1, testAddress); err != nil {
		t.Fatal(err)
	}
	return fd
}

// drainer reads a descriptor for Quiesce into a string.
func drainer(fd int, into *strings.Builder) func() (bool, error) {
	b := make([]byte, 1024)
	return func() (bool, error) {
		n, err := unix.Read(fd, b)
		if err == unix.EAGAIN || (err == nil && n == 0) {
			return false, nil
		}
		into.Write(b[:max(n, 0)])
		return true, err
	}
}

func send(t testing.TB, fd int, b ...byte) {
	t.Helper()
	if n, err := unix.Write(fd, b); n != len(b) || err != nil {
		t.Fatal(n, err)
	}
}

func itoa(b byte) string { return strconv.Itoa(int(b)) }
