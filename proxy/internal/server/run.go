// Package server is the inside of a proxy: pid 1 of a peer group, which starts the peers, carries
// out the commands of the checker, and is visited by the daemon.
package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/proxy/internal/protocol"
)

// Channel is the descriptor of the command channel in the proxy.
const Channel = 3

// Arguments of the two stages that the proxy runs through; see Run.
const (
	StageMount = "mount" // in the file tree of the machine
	StageServe = "serve" // in that of the group
)

// maxConfig is how many bytes a configuration has at most.
const maxConfig = 1 << 20

// Run is the whole life of a proxy, which must be pid 1 of fresh namespaces (pid, mount,
// UTS) with the channel as descriptor Channel and its output on descriptors 1 and 2. Stage
// "mount" makes the group's file tree, enters it and executes the proxy again from there,
// so that nothing of the old tree is held open; stage "serve" starts the peers and serves
// until the channel ends. It returns nil once the checker is gone or was told an error,
// and an error that it could not be told.
// It must be called on the process's first thread, which then has all its children.
func Run(stage, file string) error {
	if unix.Gettid() != os.Getpid() {
		panic("proxy: Run is not on the first thread: call runtime.LockOSThread in an init function")
	}
	// Whatever the checker was started with besides must not get into the peers.
	if err := unix.CloseRange(Channel, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("keep descriptors from the peers: %w", err)
	}
	config, err := readConfig(file)
	if err == nil {
		switch stage {
		case StageMount:
			err = enter(config)
		case StageServe:
			return serve(config)
		default:
			err = fmt.Errorf("no stage %q", stage)
		}
	}
	return reportError(err)
}

// reportError tells the checker why there are no peers. It returns nil if that could be told.
func reportError(err error) error {
	if untold := sendHello(protocol.Hello{Error: err.Error()}); untold != nil {
		return errors.Join(err, untold)
	}
	return nil
}

// serve is the second stage: it starts the peers, says so, and serves. Orphans are reaped meanwhile
// on another thread.
func serve(config protocol.Config) error {
	l, peers, err := launch(config)
	if err != nil {
		return reportError(err)
	}
	s := New(Channel)
	s.peers, s.launcher = peers, l
	go s.reapOrphans()
	if err := sendHello(protocol.Hello{Peers: peers}); err != nil {
		return err
	}
	return s.Serve()
}

// readConfig reads the configuration, and checks what depends on nothing else. It avoids package
// os, whose files bring an epoll instance into the image.
func readConfig(file string) (protocol.Config, error) {
	var c protocol.Config
	b, err := readAll(file, maxConfig)
	if err != nil {
		return c, fmt.Errorf("read the configuration of the proxy: %w", err)
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("configuration %s of the proxy: %w", file, err)
	}
	if len(c.Peers) > protocol.MaxPeers || len(c.Mounts) > protocol.MaxMounts {
		return c, fmt.Errorf("configuration %s of the proxy: more than %d peers or %d mounts", file,
			protocol.MaxPeers, protocol.MaxMounts)
	}
	return c, nil
}

// readAll reads a file of at most limit bytes. It does not ask for the size: files in /proc have
// none.
func readAll(file string, limit int) ([]byte, error) {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: file, Err: err}
	}
	defer unix.Close(fd)
	var b []byte
	part := make([]byte, 8<<10)
	for {
		n, err := sys.Retry(func() (int, error) { return unix.Read(fd, part) })
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: file, Err: err}
		}
		if n == 0 {
			return b, nil
		}
		if b = append(b, part[:n]...); len(b) > limit {
			return nil, fmt.Errorf("%s is longer than %d bytes", file, limit)
		}
	}
}

// sendHello sends the first message, which the checker waits for. It does not need a server: there
// is none if the peers could not be started.
func sendHello(h protocol.Hello) error {
	b, err := protocol.EncodeHello(h)
	if err != nil {
		return err
	}
	if err := unix.Sendto(Channel, b, unix.MSG_NOSIGNAL, nil); err != nil {
		return fmt.Errorf("greet on the command channel: %w", err)
	}
	return nil
}

// reapOrphans waits for the processes that the peers leave behind. The peers themselves
// stay as zombies when they die, for everybody to see in /proc, how they ended included;
// that is part of a checkpoint, as a status kept elsewhere would not be.
func (s *Server) reapOrphans() {
	keep := make(map[int]bool, len(s.peers))
	for _, pid := range s.peers {
		keep[pid] = true
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGCHLD)
	for {
		s.reaping.Lock()
		for reapOne(keep) {
		}
		s.reaping.Unlock()
		<-signals
	}
}

// reapOne waits for a dead child that is not to be kept, if there is one. Mostly the kernel names
// it; where it names one to be kept, all are looked at. It returns false when there is nothing more
// to do until the next signal.
func reapOne(keep map[int]bool) bool {
	pid := deadChild()
	if pid == 0 {
		return false
	}
	if !keep[pid] {
		unix.Wait4(pid, nil, unix.WNOHANG, nil)
		return true
	}
	// One that is to be kept hides the others from waitid, which names it each time.
	found := false
	threads, _ := filepath.Glob("/proc/1/task/*/children")
	for _, file := range threads {
		children, err := readAll(file, maxChildren)
		if err != nil {
			panic("proxy: list the children: " + err.Error())
		}
		for field := range strings.FieldsSeq(string(children)) {
			if pid, err := strconv.Atoi(field); err == nil && !keep[pid] {
				got, _ := unix.Wait4(pid, nil, unix.WNOHANG, nil)
				found = found || got == pid
			}
		}
	}
	return found
}

// maxChildren bounds the list of the proxy's children, in bytes.
const maxChildren = 16 << 20

// deadChild returns the pid of a child that has died and was not waited for, or 0. It leaves the
// child as it is: whether to wait for it depends on who it is.
func deadChild() int {
	var info struct { // siginfo_t, as waitid(2) fills it in
		signal, errno, code, _, pid int32
		_                           [108]byte
	}
	_, _, errno := unix.Syscall6(unix.SYS_WAITID, unix.P_ALL, 0, uintptr(unsafe.Pointer(&info)),
		unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(info.pid)
}
