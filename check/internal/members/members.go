// Package members runs the processes that search the states of a model together: the one that
// leads, and the parts. They run a program or test of the user, in which package protocol finds a
// socket in its environment (protocol/session). What comes over it is brought to the others by a
// server.
package members

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tandem-mc/tandem/distribute"
	"github.com/tandem-mc/tandem/protocol/session"
)

// Setup is what a worker has to know of a search, beside the program.
type Setup struct {
	Args []string
	// Dir is where the program runs, if it is there; else it runs in an empty directory.
	Dir       string
	Parts     int
	Partition string
	// Every is the least time between two checkpoints of a part; zero: there are none.
	Every time.Duration
}

// Become implements distribute.Become. The program ends by itself when the search has, whatever it
// has come to: a test that fails where the search is led fails here, too.
func Become(ctx context.Context, run distribute.Run, program string, m distribute.Member,
	p distribute.Post) error {
	var s Setup
	if err := json.Unmarshal(run.Setup, &s); err != nil {
		return fmt.Errorf("reading what the search is: %w", err)
	}
	// What a part prints is what the one that leads prints, or says why it has ended.
	out := &tail{}
	ends, err := p.Ends(ctx)
	if err != nil {
		return fmt.Errorf("reading which searches have ended: %w", err)
	}
	hello := &session.Hello{Own: m.Part, Process: m.Process, Parts: s.Parts, Partition: s.Partition,
		Saved: m.Saved, Every: s.Every, Ends: ends}
	err = Run(ctx, s, program, hello, Wires{Post: p}, out, out)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w; it has printed: %s", err, out)
	}
	return err
}

// Wires are what the frames of a process lead to. Parts may not start others: whoever leads alone
// knows which process is which part.
type Wires struct {
	Post distribute.Post
	// All of these are for the process that leads; nil: this one does not. Tell is told how far the
	// search is, at the end of each level.
	Start  func(distribute.Member)
	Keep   func(ctx context.Context, levels uint64, places []uint64, isKept func(name string) bool) error
	Forget func(context.Context) error
	Tell   func(distribute.States)
}

// Run runs the program as a member until it ends, and returns its error. If the connection to the
// others is lost for good, the program is ended, and the error says why. The environment is that of
// this process, but for the socket. HasEnded says what the error means.
func Run(ctx context.Context, s Setup, program string, hello *session.Hello, w Wires,
	stdout, stderr io.Writer) error {
	// The socket has a short name, since the system has room for some hundred bytes only.
	dir, err := os.MkdirTemp("", "tandem-member-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		return fmt.Errorf("a socket for the program: %w", err)
	}
	defer listener.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := exec.CommandContext(ctx, program, s.Args...)
	c.Dir, c.Stdout, c.Stderr = s.Dir, stdout, stderr
	if _, err := os.Stat(s.Dir); err != nil {
		c.Dir = dir
	}
	c.Env = append(os.Environ(), session.Environment+"="+path)
	// Ctrl-C is for tandem alone, which then ends the program. Were the program in the same group,
	// the terminal would tell it, too, and it would be gone before tandem knows why.
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	// The system looks at the end of the thread that has started the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.Start(); err != nil {
		return fmt.Errorf("starting the program: %w", err)
	}
	var busy sync.WaitGroup
	busy.Go(func() { serve(ctx, cancel, listener, hello, w) })
	err = c.Wait()
	cause := context.Cause(ctx)
	cancel(nil)
	listener.Close()
	busy.Wait()
	if cause != nil {
		return cause
	}
	return err
}

// HasEnded says whether the program has ended by itself, with whatever result. Else it was ended by
// a signal or with its context, has lost the others, or was never there. An error is that of Run.
func HasEnded(err error) bool {
	var exit *exec.ExitError
	return err == nil || errors.As(err, &exit) && exit.Exited()
}

// serve connects the program with the others until it ends. A program that checks no model never
// comes. Each way has a goroutine: a process that only listens, such as a part that waits for a
// level, must not keep it from sending, nor the reverse. If the others are lost, fail is told so
// before the program can see it: that one may end by itself then.
func serve(ctx context.Context, fail context.CancelCauseFunc, l net.Listener, hello *session.Hello,
	w Wires) {
	raw, err := l.Accept()
	if err != nil {
		return // the program has ended
	}
	conn := session.NewConn(raw)
	defer conn.Close()
	if err := conn.Greet(hello); err != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var busy sync.WaitGroup
	busy.Go(func() { store(ctx, l, w.Post) })
	busy.Go(func() {
		for {
			data, place, err := w.Post.Receive(ctx)
			if err != nil {
				if ctx.Err() == nil {
					fail(err)
				}
				break
			}
			if conn.WriteMessage(place, data) != nil {
				break // the program has ended
			}
		}
		conn.Close()
	})
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err := forward(ctx, conn, w); err != nil {
		fail(err)
	}
	cancel()
	l.Close()
	busy.Wait()
}

// store stores objects for the program, until that ends. It connects once more if it has some.
func store(ctx context.Context, l net.Listener, p distribute.Post) {
	raw, err := l.Accept()
	if err != nil {
		return // the program has ended
	}
	conn := session.NewConn(raw)
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	conn.Serve(func(name string, data []byte) error { return p.Put(ctx, name, data) },
		func(name string) ([]byte, error) {
			data, err := p.Get(ctx, name)
			if errors.Is(err, distribute.ErrLost) {
				err = fmt.Errorf("%w (%w)", session.ErrLost, err)
			}
			return data, err
		})
}

// errLead is of a part that wants what only the one that leads may. No part of this version does.
var errLead = errors.New("a part wants to lead: this is an error in tandem")

// forward does what the program wants, until that ends. A message is sent when the server has it.
// So if the server is slow, or away, the program waits at its socket, and what it has reached stays
// in it.
func forward(ctx context.Context, conn *session.Conn, w Wires) error {
	for {
		f, err := conn.Frame()
		if err != nil {
			return nil // the program has ended
		}
		switch {
		case f.Op == session.Send:
			err = w.Post.Send(ctx, f.To, f.Data)
		case w.Start == nil:
			err = errLead
		case f.Op == session.Start:
			w.Start(distribute.Member{Part: f.To, Process: f.Process, Saved: f.Data})
		case f.Op == session.Keep:
			err = keep(ctx, f.Data, w)
		case f.Op == session.Forget:
			err = w.Forget(ctx)
		case f.Op == session.Tell:
			err = tell(f.Data, w)
		}
		if err != nil {
			return err
		}
	}
}

// keep has removed what is not needed any more.
func keep(ctx context.Context, data []byte, w Wires) error {
	var k session.Kept
	if err := json.Unmarshal(data, &k); err != nil {
		return fmt.Errorf("reading what is still needed: %w", err)
	}
	var places []uint64
	for _, p := range k.Parts {
		places = append(places, p.Place)
	}
	return w.Keep(ctx, k.Levels, places, k.Has)
}

// tell notes how far the search is.
func tell(data []byte, w Wires) error {
	var p session.Progress
	if err := json.Unmarshal(data, &p); err != nil {
		return fmt.Errorf("reading how far the search is: %w", err)
	}
	w.Tell(distribute.States{Count: p.States, Transitions: p.Transitions, Depth: p.Depth})
	return nil
}

// tail keeps the last bytes that were written. A process that has panicked says why at its end.
type tail struct {
	mu   sync.Mutex
	data []byte
}

// tailBytes is how many.
const tailBytes = 2 << 10

func (t *tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, data...)
	t.data = t.data[max(0, len(t.data)-tailBytes):]
	return len(data), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.data))
}
