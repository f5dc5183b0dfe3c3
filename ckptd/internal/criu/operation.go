package criu

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/checkpoint-restore/go-criu/v7/rpc"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/reaper"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
)

// CRIU is used through its RPC protocol, in a process for each operation: a request, notifications
// at certain stages, each of which is answered, and a response.

// Runner runs operations of CRIU. Each is a process of its own in mode swrk ("service
// worker"), which takes one request over an inherited socket: https://criu.org/RPC.
// The library go-criu would do, but cannot hand descriptors to that process, be
// cancelled, or be made to run in another network namespace.
type Runner struct {
	File     string
	Reaper   *reaper.Reaper
	interval time.Duration // between two looks at a restore; 0: as long as it is for users
	work     string        // directory for logs; "": that of the daemon
}

// operation is one dump or restore. It is used once.
type operation struct {
	kind    rpc.CriuReqType
	options *rpc.CriuOpts
	network *os.File // namespace to run in
	images  string   // directory
	work    string   // directory for what CRIU writes besides, its log above all; run makes one
	// inherit are handed to a restored process in place of what it had, by CRIU's key.
	inherit []inherited
	// at is called at stages of the operation, by CRIU's name for them, while the group stands
	// still.
	at map[string]func() error
}

// inherited is a file of the daemon that a restored process gets in place of one that was saved.
type inherited struct {
	key  string
	file *os.File
}

const (
	criuLogLevel = 2 // errors and warnings
	criuLog      = "criu.log"
)

// Stages of an operation: https://criu.org/Action_scripts.
const (
	afterDump     = "post-dump"   // the group goes on after it
	beforeRestore = "pre-restore" // the image has been looked at, and nothing made
	beforeResume  = "pre-resume"  // all is restored, and about to run
)

// run carries out the operation; pid is that of a restored group.
//
// It returns when CRIU has ended: the directories and the socket are CRIU's until then. A context
// that ends kills it.
func (c *Runner) run(ctx context.Context, o operation) (pid int, err error) {
	// Not among the images, where there may be no room, or no writing.
	if o.work, err = os.MkdirTemp(cmp.Or(c.work, paths.Work), ""); err != nil {
		return 0, fmt.Errorf("make a directory for the log of CRIU: %w", err)
	}
	defer os.RemoveAll(o.work)
	var directories [2]*os.File
	for n, path := range []string{o.images, o.work} {
		if directories[n], err = os.Open(path); err != nil {
			return 0, err
		}
		defer directories[n].Close()
	}
	pair, err := seqpacket.Pair()
	if err != nil {
		return 0, err
	}
	defer unix.Close(pair[0])
	process, err := c.start(o, pair[1])
	unix.Close(pair[1])
	if err != nil {
		return 0, fmt.Errorf("execute %s: %w", c.File, err)
	}
	defer context.AfterFunc(ctx, process.Signal)()
	shut := make(chan struct{})
	go func() {
		// Half-restored processes may hold the socket open when CRIU is dead.
		<-process.Done
		unix.Shutdown(pair[0], unix.SHUT_RDWR)
		close(shut)
	}()
	o.complete(int32(directories[0].Fd()), int32(directories[1].Fd()))
	response, err := o.converse(pair[0])
	if err != nil && !errors.Is(err, io.EOF) {
		process.Signal()
	}
	<-shut
	return o.outcome(ctx, process.Status, response, err)
}

// start executes CRIU in the group's network namespace, with the socket as descriptor 3. Files that
// a restored process inherits follow it, in the order in which they are named to CRIU.
func (c *Runner) start(o operation, socket int) (*reaper.Child, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	// What CRIU prints goes to the log of the daemon.
	files := []uintptr{null.Fd(), 2, 2, uintptr(socket)}
	for _, i := range o.inherit {
		files = append(files, i.file.Fd())
	}
	return c.Reaper.Start(o.network, func() (int, error) {
		return syscall.ForkExec(c.File, []string{"criu", "swrk", "3"}, &syscall.ProcAttr{
			Dir: o.work, Env: os.Environ(), Files: files,
		})
	})
}

// complete fills in the options that are the same for every operation. Connections and locks are
// saved; control groups are the machine's.
func (o *operation) complete(imagesFD, workFD int32) {
	x := o.options
	x.ImagesDirFd = proto.Int32(imagesFD)
	x.WorkDirFd = proto.Int32(workFD)
	x.LogFile = proto.String(criuLog)
	x.LogLevel = proto.Int32(criuLogLevel)
	x.TcpEstablished = proto.Bool(true)
	x.FileLocks = proto.Bool(true)
	x.ManageCgroups = proto.Bool(true)
	x.ManageCgroupsMode = rpc.CriuCgMode_IGNORE.Enum()
	// The network of a group has no outside whose packets had to be held off; for restores see
	// HoldPackets.
	x.NetworkLock = rpc.CriuNetworkLockMethod_SKIP.Enum()
	// A notification has to be answered, so there are none where nobody wants one.
	x.NotifyScripts = proto.Bool(len(o.at) > 0)
	for n, i := range o.inherit {
		x.InheritFd = append(x.InheritFd, &rpc.InheritFd{Key: proto.String(i.key),
			Fd: proto.Int32(int32(4 + n))})
	}
}

// converse sends the request and answers notifications until the response to it. A callback that
// fails ends the operation: CRIU is told, and would go on otherwise.
func (o *operation) converse(socket int) (*rpc.CriuResp, error) {
	if err := send(socket, &rpc.CriuReq{Type: o.kind.Enum(), Opts: o.options}); err != nil {
		return nil, err
	}
	for {
		response, err := receive(socket)
		if err != nil {
			return nil, err
		}
		if response.GetType() != rpc.CriuReqType_NOTIFY {
			return response, nil
		}
		var hookErr error
		if hook := o.at[response.GetNotify().GetScript()]; hook != nil {
			hookErr = hook()
		}
		answer := &rpc.CriuReq{Type: rpc.CriuReqType_NOTIFY.Enum(), NotifySuccess: proto.Bool(hookErr == nil)}
		if err := errors.Join(hookErr, send(socket, answer)); err != nil {
			return nil, err
		}
	}
}

// send sends a request. io.EOF says that CRIU has ended.
func send(socket int, request *rpc.CriuReq) error {
	b, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	if err := seqpacket.Send(socket, b, nil); err == unix.EPIPE {
		return io.EOF
	} else if err != nil {
		return fmt.Errorf("send a request to CRIU: %w", err)
	}
	return nil
}

// receive receives a response or a notification. io.EOF is the end of CRIU, which may be killed at
// any time.
func receive(socket int) (*rpc.CriuResp, error) {
	b, descriptors, err := wire.Receive(socket)
	sys.CloseAll(descriptors)
	if err != nil {
		return nil, err
	}
	response := &rpc.CriuResp{}
	if err := proto.Unmarshal(b, response); err != nil {
		return nil, fmt.Errorf("response of CRIU: %w", err)
	}
	return response, nil
}

// ErrFailed: CRIU has run, and said that it could not do what it was to.
var ErrFailed = errors.New("CRIU failed")

// outcome judges a finished operation. What CRIU says itself counts more than how it has ended; if
// it has said nothing, its log may.
func (o *operation) outcome(ctx context.Context, status unix.WaitStatus, response *rpc.CriuResp,
	err error) (int, error) {
	name := strings.ToLower(o.kind.String())
	switch {
	// It was killed for that: how it ended says nothing.
	case ctx.Err() != nil && response == nil:
		return 0, fmt.Errorf("CRIU was stopped during a %s: %w", name, context.Cause(ctx))
	case err != nil && !errors.Is(err, io.EOF):
		return 0, fmt.Errorf("%s: %w", name, err)
	case response == nil && status.Signaled():
		return 0, fmt.Errorf("CRIU was killed by signal %d (%v) during a %s", status.Signal(),
			status.Signal(), name)
	case response == nil:
		return 0, fmt.Errorf("CRIU exited with status %d during a %s: %s", status.ExitStatus(), name,
			o.logErrors())
	case !response.GetSuccess():
		return 0, fmt.Errorf("%w to %s: %s", ErrFailed, name, o.logErrors())
	case response.GetType() != o.kind:
		return 0, fmt.Errorf("CRIU answered a request to %s with %v", name, response.GetType())
	}
	return int(response.GetRestore().GetPid()), nil
}

// logErrors returns the last error lines of the log: those before them and the closing one are
// often harmless or say nothing. What the user gets to see is what CRIU has said last of what it
// could not do.
func (o *operation) logErrors() string {
	const keep = 3
	b, err := os.ReadFile(filepath.Join(o.work, criuLog))
	if err != nil {
		return "it wrote no log"
	}
	var lines []string
	for line := range bytes.Lines(b) {
		s := strings.TrimSpace(string(line))
		if strings.Contains(s, "Error") && !strings.Contains(s, "RLIMIT_NOFILE") &&
			!strings.HasSuffix(s, "FAILED.") {
			lines = append(lines, s)
		}
	}
	if len(lines) == 0 {
		return "its log holds no error"
	}
	return strings.Join(lines[max(0, len(lines)-keep):], "; ")
}
