package ckptd

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/peers"
)

// roleVariable makes the test binary a peer.
const roleVariable = "TANDEM_TEST_PEER"

var sinkAddress = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 9000)

// ownPeer is a group of the test binary in a role.
func ownPeer(role string, arguments ...string) peers.Group {
	return peers.Group{Peers: []peers.Peer{{
		Name: role, Command: append([]string{os.Args[0]}, arguments...),
		Env: []string{roleVariable + "=" + role}, Listen: sinkAddress.String(),
	}}}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func must1[T any](v T, err error) T {
	must(err)
	return v
}

// bePeer is the life of a peer.
func bePeer(role string) {
	if role == "headless" {
		endFirstThread()
	}
	listener := must1(net.Listen("tcp4", sinkAddress.String()))
	switch role {
	case "inetd": // becomes another program with its first connection
		c := must1(listener.Accept()).(*net.TCPConn)
		f := must1(c.File()) // blocking
		must(unix.SetNonblock(int(f.Fd()), false))
		must(unix.Dup2(int(f.Fd()), 0))
		must(unix.Dup2(int(f.Fd()), 1))
		// what the runtime polls with must stay until then
		must(unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC))
		must(unix.Exec(os.Args[1], os.Args[1:], os.Environ()))
	case "says goodbye": // and waits for the other end to do so, too
		c := must1(listener.Accept()).(*net.TCPConn)
		must(c.CloseWrite())
		c.Read(make([]byte, 1))
		select {}
	case "oracle":
		beOracle(listener)
	case "sink", "sink with more", "sink with a semaphore", "sink with high numbers":
		if role == "sink with high numbers" { // for its threads
			highest := must1(strconv.Atoi(strings.TrimSpace(
				string(must1(os.ReadFile("/proc/sys/kernel/pid_max")))))) - 1
			must(os.WriteFile("/proc/sys/kernel/ns_last_pid", fmt.Append(nil, highest-2), 0))
		}
		s := newSink(role == "sink with more")
		if role == "sink with a semaphore" {
			s.semaphore = systemV(unix.SYS_SEMGET, ipcPrivate, 1, 0o600)
		}
		for {
			s.serve(must1(listener.Accept()))
		}
	default:
		refused[role]()
		select {}
	}
}

// refused are the things that the memory backend does not hold.
var refused = map[string]func(){
	"inotify":          func() { must1(unix.InotifyInit1(unix.IN_CLOEXEC)) },
	"raw socket":       func() { must1(unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)) },
	"netlink of audit": func() { must1(unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT)) },
	"lease": func() {
		must1(unix.FcntlInt(must1(os.Create("x")).Fd(), unix.F_SETLEASE, unix.F_WRLCK))
	},
	"pidfd": func() { must1(unix.PidfdOpen(os.Getpid(), 0)) },
	"socket filter": func() {
		fd := must1(unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0))
		program := slices.Repeat([]unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 16}}, 300)
		must(unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
			&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}))
	},
	"half a pair": func() {
		pair := must1(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
		must(unix.Close(pair[1]))
	},
	"full pair": func() {
		pair := must1(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
		must1(unix.Write(pair[1], []byte("x")))
	},
	"full pipe": func() {
		var p [2]int
		must(unix.Pipe2(p[:], unix.O_CLOEXEC))
		must1(unix.Write(p[1], []byte("x")))
	},
	"locked memory": func() {
		must(unix.Mlock(must1(unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS))))
	},
	"memory of its own": func() {
		b := must1(unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS))
		must(unix.Madvise(b, unix.MADV_DONTFORK))
	},
	"POSIX timer": func() {
		id := int32(0)
		event := [64]byte{12: 1} // SIGEV_NONE
		_, _, errno := unix.Syscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, bytesPointer(event[:]),
			int32Pointer(&id))
		if errno != 0 {
			must(errno)
		}
	},
	"child": func() {
		must1(syscall.ForkExec("/bin/sh", []string{"sh", "-c", "mkfifo f; read x <>f"}, &syscall.ProcAttr{}))
	},
	"expired timerfd": func() {
		fd := must1(unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC))
		must(unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Value: unix.Timespec{Nsec: 1}}, nil))
	},
	"System V message queue": func() { systemV(unix.SYS_MSGGET, ipcPrivate, 0o600, 0) },
	// and not attached
	"System V shared memory": func() { systemV(unix.SYS_SHMGET, ipcPrivate, 4096, 0o600) },
	"POSIX message queue": func() {
		const create = unix.O_CREAT | unix.O_RDWR
		name := []byte("letters\x00")
		fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, bytesPointer(name), create, 0o600, 0, 0, 0)
		if errno != 0 {
			must(errno)
		}
		must(unix.Close(int(fd)))
	},
	"chroot": func() {
		must(os.Mkdir("jail", 0o700))
		must(unix.Chroot("jail"))
	},
	"no capabilities": func() {
		must(unix.Prctl(unix.PR_SET_KEEPCAPS, 1, 0, 0, 0))
		must(syscall.Setuid(1))
	},
}

const ipcPrivate = 0

// systemV is a call that makes or uses an object of System V.
//
//go:uintptrescapes
func systemV(call, first, second, third uintptr) uintptr {
	r, _, errno := unix.Syscall(call, first, second, third)
	if errno != 0 {
		must(errno)
	}
	return r
}

// sink has one of everything that the memory backend holds.
type sink struct {
	began        time.Duration
	count        int
	file, log    *os.File
	event, timer int
	semaphore    uintptr
	signals      int
	pipe         [2]int
	ticks        chan os.Signal
	wiped        []byte
	heap         [][]byte
}

// newSink makes one; more is what CRIU 4.2.1 loses without a word.
func newSink(more bool) *sink {
	s := &sink{began: must1(monotonicNow())}
	must(os.WriteFile("data", []byte("0123456789"), 0o600))
	s.file = must1(os.OpenFile("data", os.O_RDWR, 0))
	must1(s.file.Seek(4, 0))
	s.log = must1(os.OpenFile("log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))
	must(unix.Dup2(int(s.file.Fd()), 100))
	must(unix.Dup3(int(s.file.Fd()), 200, unix.O_CLOEXEC))
	must1(unix.Open("/proc/self/root", unix.O_PATH, 0))
	// as web servers open it for their logs
	must1(unix.Open("/dev/stdout", unix.O_WRONLY|unix.O_APPEND, 0))
	event := unix.EFD_CLOEXEC | unix.EFD_NONBLOCK
	if more {
		must1(unix.Open(".", unix.O_RDONLY|unix.O_DIRECTORY, 0))
		event |= unix.EFD_SEMAPHORE
	}
	s.event = must1(unix.Eventfd(7, event))
	s.timer = must1(unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK))
	must(unix.TimerfdSettime(s.timer, 0, &unix.ItimerSpec{Value: unix.Timespec{Sec: 1000},
		Interval: unix.Timespec{Sec: 5}}, nil))
	s.signals = must1(unix.Signalfd(-1, &unix.Sigset_t{Val: [16]uint64{1 << (unix.SIGUSR2 - 1)}},
		unix.SFD_CLOEXEC))
	must(unix.Pipe2(s.pipe[:], unix.O_NONBLOCK))
	must1(unix.Setitimer(unix.ItimerReal, unix.Itimerval{Value: unix.Timeval{Sec: 5000}}))
	s.ticks = make(chan os.Signal, 1)
	signal.Notify(s.ticks, unix.SIGHUP)
	own := must1(unix.EpollCreate1(0))
	must(unix.EpollCtl(own, unix.EPOLL_CTL_ADD, s.pipe[0],
		&unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: 77, Pad: 88}))
	s.wiped = must1(unix.Mmap(-1, 0, 8192, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS))
	must(unix.Madvise(s.wiped, unix.MADV_WIPEONFORK))
	copy(s.wiped, "not wiped")
	mapped := must1(unix.Mmap(int(s.file.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE))
	mapped[20] = 'w'
	must(os.Mkdir("inner", 0o700))
	must(os.Chdir("inner"))
	unix.Umask(0o27)
	unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0)
	for range 3 { // threads of their own names, which wait in different calls
		go func() {
			runtime.LockOSThread()
			name := [16]byte{'s', 'p', 'a', 'r', 'e'}
			unix.Prctl(unix.PR_SET_NAME, bytesPointer(name[:]), 0, 0, 0)
			var b [8]byte
			unix.Read(must1(unix.Eventfd(0, 0)), b[:])
		}()
	}
	return s
}

func monotonicNow() (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return time.Duration(t.Nano()), err
}

// serve answers lines.
func (s *sink) serve(c net.Conn) {
	lines := bufio.NewScanner(c)
	for lines.Scan() {
		s.count++
		s.heap = append(s.heap, make([]byte, 1<<16))
		fmt.Fprintln(s.log, "request", s.count)
		fmt.Fprintln(c, s.answer(lines.Text()))
	}
	c.Close()
}

func (s *sink) answer(request string) string {
	switch command, _, _ := strings.Cut(request, " "); command {
	case "count":
		return fmt.Sprint(s.count)
	case "clock": // seconds since the start
		return fmt.Sprint(int((must1(monotonicNow()) - s.began) / time.Second))
	case "offset":
		return fmt.Sprint(must1(s.file.Seek(1, 1)))
	case "event":
		var b [8]byte
		n, err := unix.Read(s.event, b[:])
		return fmt.Sprint(n, b, err)
	case "timers":
		var timer unix.ItimerSpec
		must(unix.TimerfdGettime(s.timer, &timer))
		real := must1(unix.Getitimer(unix.ItimerReal))
		return fmt.Sprint(timer.Value.Sec/100, timer.Interval.Sec, real.Value.Sec/1000)
	case "pipe":
		var b [1]byte
		must1(unix.Write(s.pipe[1], []byte("p")))
		n, err := unix.Read(s.pipe[0], b[:])
		return fmt.Sprint(n, b, err)
	case "signal":
		must(unix.Kill(os.Getpid(), unix.SIGHUP))
		return fmt.Sprint(<-s.ticks)
	case "wiped":
		return string(s.wiped[:9])
	case "semaphore":
		const increment, getValue = 1, 12
		operation := [3]int16{0, increment, 0}
		systemV(unix.SYS_SEMOP, s.semaphore, uintptr(unsafe.Pointer(&operation)), 1)
		return fmt.Sprint(systemV(unix.SYS_SEMCTL, s.semaphore, 0, getValue))
	case "write":
		must1(s.file.WriteAt([]byte("CHANGED"), 0))
		return "done"
	case "death":
		n := int32(0)
		unix.Prctl(unix.PR_GET_PDEATHSIG, int32Pointer(&n), 0, 0, 0)
		return fmt.Sprint(n)
	}
	return "?"
}
