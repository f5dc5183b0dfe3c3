// Package shared is the daemon that several checkers of one user share. It starts a private daemon
// for each of them, and keeps a second channel to each, for the page of its status.
package shared

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/awake"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/internal/sys/userns"
)

// Several checks at a time would have a daemon each, with limits of its own. Where that is too much
// for a machine, one of its users starts a shared daemon, which says how many there may be and what
// each may have.

// A shared daemon listens at a socket and starts a daemon of its own for each client that
// comes: in namespaces of its own, with a store of its own. So no client sees anything of
// another, none takes another's room, and a daemon that ends takes one client's groups
// only. The client's end is the end of its daemon, as if it had started it itself. If
// the shared daemon is killed, the clients go on. If it is told to stop, it ends their daemons.

// shared is a daemon that starts daemons. It has nothing of groups or images itself.
type shared struct {
	options  Options
	listener int
	since    time.Time
	stopped  chan struct{}
	once     sync.Once // to close it

	mu      sync.Mutex
	clients map[*attached]bool
	closing bool
}

// attached is a client with its daemon. The daemon speaks with the client over the client's own
// connection, of which the shared daemon keeps no copy.
type attached struct {
	pid, uid int
	since    time.Time
	process  *exec.Cmd

	mu       sync.Mutex // held while the daemon is asked for its status
	control  int
	sequence uint32
}

// Serve is the whole life of a shared daemon. It returns when it has been told to stop.
//
// Limits that are zero are the defaults. Errors that come before it listens say what to change;
// afterwards only a failing accept ends it by itself.
func Serve(o Options) error {
	o.MaxClients = cmp.Or(o.MaxClients, wire.DefaultMaxClients)
	o.Limits.MaxBytes = cmp.Or(o.Limits.MaxBytes, wire.DefaultMaxBytes)
	o.Limits.MaxImages = cmp.Or(o.Limits.MaxImages, wire.DefaultMaxImages)
	if o.MaxClients < 0 || o.Limits.MaxBytes < 0 || o.Limits.MaxImages < 0 {
		return fmt.Errorf("limits of %d clients, each with %d bytes and %d images, are negative",
			o.MaxClients, o.Limits.MaxBytes, o.Limits.MaxImages)
	}
	listener, err := listenAt(o.Socket)
	if err != nil {
		return err
	}
	defer awake.Keep()()
	// A daemon that is told to stop ends its clients' daemons; one that is killed cannot.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT)
	s := &shared{options: o, listener: listener, since: time.Now(), stopped: make(chan struct{}),
		clients: map[*attached]bool{}}
	fmt.Fprintf(os.Stderr, "tandem-ckptd: process %d listens at %s\n", os.Getpid(), o.Socket)
	// Whoever does not say what he wants takes one of these places, and not for long.
	places := make(chan struct{}, 4*o.MaxClients)
	go func() {
		select {
		case <-signals:
			s.stop(true)
			s.leave()
		case <-s.stopped:
		}
		unix.Shutdown(listener, unix.SHUT_RDWR)
	}()
	for {
		connection, _, err := unix.Accept4(listener, unix.SOCK_CLOEXEC)
		if err != nil {
			select {
			case <-s.stopped:
				return s.end()
			default:
			}
			if err == unix.EINTR || err == unix.ECONNABORTED {
				continue
			}
			return errors.Join(fmt.Errorf("accept clients at %s: %w", o.Socket, err), s.end())
		}
		places <- struct{}{}
		go func() {
			s.welcome(connection)
			<-places
		}()
	}
}

// listenAt makes the socket, which nobody but this user can use. One that a daemon has left behind
// is replaced. The directory is locked from the look at the old socket to the new one, so that of
// two that start at once one finds the other.
func listenAt(path string) (listener int, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return -1, err
	}
	directory, err := os.Open(filepath.Dir(path))
	if err != nil {
		return -1, fmt.Errorf("the directory of the socket: %w", err)
	}
	defer directory.Close()
	if err := unix.Flock(int(directory.Fd()), unix.LOCK_EX); err != nil { // two may start at once
		return -1, fmt.Errorf("lock %s: %w", directory.Name(), err)
	}
	if err := removeStale(path); err != nil {
		return -1, err
	}
	if listener, err = unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, err
	}
	// The mode of a socket decides who may connect, from the moment that it is bound.
	const othersNothing = 0o177
	// The umask is the process's; nothing else makes files here.
	before := unix.Umask(othersNothing)
	err = unix.Bind(listener, &unix.SockaddrUnix{Name: path})
	unix.Umask(before)
	if err == nil {
		err = unix.Listen(listener, unix.SOMAXCONN)
	}
	if err != nil {
		unix.Close(listener)
		return -1, fmt.Errorf("listen at %s: %w", path, err)
	}
	return listener, nil
}

// removeStale removes a socket at which nobody listens. Anything else at that path is not the
// daemon's to remove. To connect is the only way to find out.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is there, and no socket: choose another path", path)
	}
	// A socket outlives the daemon that has bound it.
	connection, err := wire.ConnectToSocket(path)
	if err == nil {
		unix.Close(connection)
		return fmt.Errorf("a daemon listens at %s already: see `tandem ckptd status`", path)
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}

// welcome does what somebody who has connected wants, which is one thing. A client says what it
// wants in one message and has an answer; after that the connection is its daemon's, or is closed.
// A connection without any message only asks whether somebody listens.
func (s *shared) welcome(connection int) {
	defer unix.Close(connection)
	var r wire.Request
	// even of a stranger: else he would not get an answer
	sequence, descriptors, err := receiveRequest(connection, &r)
	defer sys.CloseAll(descriptors)
	if errors.Is(err, io.EOF) {
		return // it has only looked whether somebody is there
	}
	var who *unix.Ucred
	if err == nil {
		who, err = wire.SameUser(connection)
	}
	var given []int
	if err == nil {
		given, err = s.do(connection, who, r, descriptors)
	}
	defer sys.CloseAll(given)
	var answer wire.Response
	if err != nil {
		answer = wire.ErrorResponse(err)
		fmt.Fprintf(os.Stderr, "tandem-ckptd: a client is turned away: %v\n", err)
	}
	wire.Reply(connection, sequence, answer, given)
	if r.Operation == wire.OpStop && err == nil {
		s.leave() // before the answer, the process could end without it
	}
}

// receiveRequest receives the one message of a client, which has some seconds for it: one that says
// nothing takes a place.
func receiveRequest(connection int, r *wire.Request) (sequence uint32, descriptors []int, err error) {
	if err := wire.SetPatience(connection, wire.Patience); err != nil {
		return 0, nil, err
	}
	message, descriptors, err := wire.Receive(connection)
	if err == unix.EAGAIN {
		err = fmt.Errorf("it said nothing for %v", wire.Patience)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("%w: %w", wire.ErrInvalid, err)
	}
	if sequence, err = wire.Decode(message, wire.RequestKind, r); err != nil {
		return 0, descriptors, fmt.Errorf("%w: %w", wire.ErrInvalid, err)
	}
	return sequence, descriptors, wire.SetPatience(connection, 0)
}

// do carries out a request of somebody who is this user, or root.
func (s *shared) do(connection int, who *unix.Ucred, r wire.Request, descriptors []int) (given []int,
	err error) {
	switch r.Operation {
	case wire.OpAttach:
		return s.attach(connection, who, r.Dir, descriptors)
	case wire.OpStatus:
		file, err := wire.MemoryJSON(s.status())
		return []int{file}, err
	case wire.OpStop:
		return nil, s.stop(r.Force)
	}
	return nil, fmt.Errorf("%w: no operation %.64q of a shared daemon", wire.ErrInvalid, r.Operation)
}

// attach starts a daemon that has the connection, and the client's file for standard error.
// The client gets a pidfd of it.
//
// The new process gets the connection and a second channel as its first descriptors. Paths of the
// client are relative to its directory, so the daemon runs in that. The client waits for the answer
// before it says anything else, so no request of it is lost between the two daemons.
func (s *shared) attach(connection int, who *unix.Ucred, directory string, descriptors []int) ([]int, error) {
	if len(descriptors) != 1 {
		return nil, fmt.Errorf("%w: to attach with %d descriptors, not 1", wire.ErrInvalid, len(descriptors))
	}
	pair, err := seqpacket.Pair()
	if err != nil {
		return nil, err
	}
	a := &attached{pid: int(who.Pid), uid: int(who.Uid), since: time.Now(), control: pair[0]}
	l := s.options.Limits
	// The same program, whatever has become of its file.
	a.process = exec.Command("/proc/self/exe", "--max-bytes", strconv.FormatInt(l.MaxBytes, 10),
		"--max-images", strconv.Itoa(l.MaxImages))
	a.process.Args[0] = os.Args[0] // it may be several programs, and is the daemon by that name
	a.process.Dir = directory
	a.process.SysProcAttr = OwnNamespaces()
	var files []*os.File
	for _, fd := range []int{descriptors[0], connection, pair[1]} {
		duplicate, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			sys.CloseAll(pair[:])
			return nil, err
		}
		f := os.NewFile(uintptr(duplicate), "descriptor of a daemon")
		defer f.Close()
		files = append(files, f)
	}
	unix.Close(pair[1])
	a.process.Stderr, a.process.ExtraFiles = files[0], files[1:]
	pidfd, err := s.start(a)
	if err != nil {
		unix.Close(pair[0])
		return nil, err
	}
	return []int{pidfd}, nil
}

// OwnNamespaces are those of a daemon. An interrupt from the terminal is for the checker. The pid
// namespace is what ends all that is below it, and the mount and the network namespace are what it
// keeps from the machine. Without root it takes a user namespace to have them.
func OwnNamespaces() *syscall.SysProcAttr {
	return userns.With(&syscall.SysProcAttr{Setsid: true,
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET})
}

// start starts the daemon of a client, if there is a place for one. Its end is waited for by a
// goroutine, which forgets the client then.
func (s *shared) start(a *attached) (pidfd int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return -1, errors.New("the shared checkpoint daemon is about to end")
	}
	if len(s.clients) >= s.options.MaxClients {
		return -1, fmt.Errorf("the shared checkpoint daemon has %d clients, and may have no more",
			len(s.clients))
	}
	if err := a.process.Start(); err != nil {
		return -1, fmt.Errorf("start a daemon for the client: %w", userns.Explain(err))
	}
	s.clients[a] = true
	// not waited for yet, so that it is the right one
	pidfd, err = unix.PidfdOpen(a.process.Process.Pid, 0)
	go func() {
		if err := a.process.Wait(); err != nil {
			fmt.Fprintf(os.Stderr, "tandem-ckptd: the daemon of client %d: %v\n", a.pid, err)
		}
		a.mu.Lock()
		unix.Close(a.control)
		a.control = -1
		a.mu.Unlock()
		s.mu.Lock()
		delete(s.clients, a)
		s.mu.Unlock()
	}()
	return pidfd, err
}

// status asks the daemons of all clients, one after the other, in the order in which they came. One
// that does not answer is listed with what is known of it. The list is taken first, so that clients
// may come and go meanwhile.
func (s *shared) status() Status {
	status := Status{PID: os.Getpid(), Since: s.since, Socket: s.options.Socket,
		MaxClients: s.options.MaxClients, Clients: []wire.Status{}}
	s.mu.Lock()
	var all []*attached
	for a := range s.clients {
		all = append(all, a)
	}
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b *attached) int { return a.since.Compare(b.since) })
	for _, a := range all {
		of, err := a.status()
		if errors.Is(err, io.EOF) || errors.Is(err, unix.EPIPE) {
			continue // it has just ended
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "tandem-ckptd: the daemon of client %d does not tell its status: %v\n",
				a.pid, err)
		}
		of.PID, of.UID, of.Since = a.pid, a.uid, a.since
		status.Clients = append(status.Clients, of)
	}
	return status
}

// status asks the daemon of a client. It has some seconds to answer. A daemon that has ended is no
// error worth telling.
func (a *attached) status() (of wire.Status, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.control < 0 {
		return of, io.EOF
	}
	if err := wire.SetPatience(a.control, wire.Patience); err != nil {
		return of, err
	}
	a.sequence++
	reply, err := wire.Ask(a.control, a.sequence, wire.Request{Operation: wire.OpStatus}, nil)
	if err != nil {
		return of, err
	}
	return of, wire.ReadStatus(reply.Descriptors, &of)
}

// stop has nobody become a client any more. With clients it must be forced. Who has been told of it
// calls leave.
func (s *shared) stop(force bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.clients); n > 0 && !force {
		return fmt.Errorf("it has %d clients: see `tandem ckptd status`, and stop them, or stop with --force",
			n)
	}
	s.closing = true
	return nil
}

// leave ends Serve.
func (s *shared) leave() { s.once.Do(func() { close(s.stopped) }) }

// end ends the daemons of all clients, and removes the socket. It returns when the processes are
// gone, so that another daemon may start at once. Clients are not asked: to stop with clients was
// forced.
func (s *shared) end() error {
	s.mu.Lock()
	s.closing = true
	for a := range s.clients {
		a.process.Process.Kill()
	}
	s.mu.Unlock()
	err := os.Remove(s.options.Socket)
	for deadline := time.Now().Add(wire.Patience); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		n := len(s.clients)
		s.mu.Unlock()
		if n == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return errors.Join(err, fmt.Errorf("the daemons of %d clients survive SIGKILL", n))
		}
	}
}
