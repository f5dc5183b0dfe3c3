package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
)

// Channel is the descriptor of the command channel in the proxy.
const Channel = 3

// Arguments of the two stages that the proxy runs through; see Run.
const (
	StageMount = "mount"
	StageServe = "serve"
)

const (
	maxConfig = 1 << 20
	maxHello  = 4 << 10
)

// hello is the proxy's first message: its peers, or why there are none.
type hello struct {
	Peers []int  // pids in the group's pid namespace, in the order of Config.Peers; of those OnDemand, in advance
	Error string `json:",omitempty"`
}

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
	return tellError(err)
}

// tellError returns nil if err could be told.
func tellError(err error) error {
	if untold := sendHello(hello{Error: err.Error()}); untold != nil {
		return errors.Join(err, untold)
	}
	return nil
}

func serve(config Config) error {
	l, peers, err := launch(config)
	if err != nil {
		return tellError(err)
	}
	s := server{channel: Channel, sockets: map[ID]int{}, peers: peers, launcher: l}
	go s.reapOrphans()
	if err := sendHello(hello{Peers: peers}); err != nil {
		return err
	}
	return s.serve()
}

// readConfig avoids package os, whose files bring an epoll instance into the image.
func readConfig(file string) (Config, error) {
	var c Config
	b, err := readAll(file, maxConfig)
	if err != nil {
		return c, fmt.Errorf("read the configuration of the proxy: %w", err)
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("configuration %s of the proxy: %w", file, err)
	}
	if len(c.Peers) > MaxPeers || len(c.Mounts) > MaxMounts {
		return c, fmt.Errorf("configuration %s of the proxy: more than %d peers or %d mounts", file, MaxPeers, MaxMounts)
	}
	return c, nil
}

// readAll reads a file of at most limit bytes.
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

func sendHello(h hello) error {
	b, err := encodeHello(h)
	if err != nil {
		return err
	}
	if err := unix.Sendto(Channel, b, unix.MSG_NOSIGNAL, nil); err != nil {
		return fmt.Errorf("greet on the command channel: %w", err)
	}
	return nil
}

// encodeHello has so much of an error as a message takes: of a byte, up to six may be made.
func encodeHello(h hello) ([]byte, error) {
	for {
		b, err := json.Marshal(h)
		if err != nil || len(b) <= maxHello || h.Error == "" {
			return b, err
		}
		h.Error = strings.ToValidUTF8(h.Error[:len(h.Error)/2], "")
	}
}

// ReceiveHello waits on the checker's end of the channel, a blocking descriptor, for a
// freshly started proxy to say that it has started the peers, and returns their pids in
// the group's pid namespace. The wait is cut at the deadline of ctx, if it has one.
func ReceiveHello(ctx context.Context, channel int) ([]int, error) {
	timeout := -1
	if deadline, ok := ctx.Deadline(); ok {
		timeout = int(max(time.Until(deadline), 0).Milliseconds())
	}
	ready, err := sys.Retry(func() (int, error) {
		return unix.Poll([]unix.PollFd{{Fd: int32(channel), Events: unix.POLLIN}}, timeout)
	})
	if err != nil {
		return nil, fmt.Errorf("wait for the proxy: %w", err)
	}
	if ready == 0 {
		return nil, fmt.Errorf("wait for the proxy to start the peers: %w", context.DeadlineExceeded)
	}
	b := make([]byte, maxHello)
	n, err := sys.Retry(func() (int, error) { return unix.Read(channel, b) })
	if err != nil || n == 0 {
		return nil, fmt.Errorf("%w before it had started the peers", ErrDied)
	}
	return decodeHello(b[:n])
}

func decodeHello(b []byte) ([]int, error) {
	var h hello
	if err := json.Unmarshal(b, &h); err != nil {
		return nil, fmt.Errorf("the proxy's first message: %w", err)
	}
	if h.Error != "" {
		return nil, errors.New(h.Error)
	}
	for _, pid := range h.Peers {
		if pid <= 1 {
			return nil, fmt.Errorf("the proxy's first message: %d is not the pid of a peer", pid)
		}
	}
	return h.Peers, nil
}

// reapOrphans waits for the processes that the peers leave behind. The peers themselves
// stay as zombies when they die, for everybody to see in /proc, how they ended included;
// that is part of a checkpoint, as a status kept elsewhere would not be.
func (s *server) reapOrphans() {
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

// reapOne waits for a dead child that is not to be kept, if there is one. Mostly the
// kernel names it; where it names one to be kept, all are looked at.
func reapOne(keep map[int]bool) bool {
	pid := deadChild()
	if pid == 0 {
		return false
	}
	if !keep[pid] {
		unix.Wait4(pid, nil, unix.WNOHANG, nil)
		return true
	}
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

// deadChild returns the pid of a child that has died and was not waited for, or 0.
func deadChild() int {
	var info struct {
		signal, errno, code, _, pid int32
		_                           [108]byte
	}
	_, _, errno := unix.Syscall6(unix.SYS_WAITID, unix.P_ALL, 0, uintptr(unsafe.Pointer(&info)), unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(info.pid)
}
