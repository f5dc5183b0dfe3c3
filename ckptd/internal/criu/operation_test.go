package criu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/checkpoint-restore/go-criu/v7/rpc"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/tandem-mc/tandem/ckptd/internal/reaper"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/internal/testkit"
)

// fakeVariable makes the test binary a CRIU that does what its value says.
const fakeVariable = "TANDEM_TEST_CRIU"

// notified are the stages that the fake CRIU stops at.
var notified = []string{"pre-dump", afterDump, beforeResume}

func TestMain(m *testing.M) {
	switch mode := os.Getenv(fakeVariable); mode {
	case "":
		os.Exit(m.Run())
	case halfClosedMode:
		os.Exit(beHalfClosed())
	default:
		os.Exit(beCRIU(mode))
	}
}

// theReaper waits for all children of the test: there is one in a process.
var theReaper = sync.OnceValue(reaper.New)

// beCRIU takes one request over descriptor 3, as CRIU does.
func beCRIU(mode string) int {
	const socket = 3
	b := make([]byte, 1<<16)
	n, err := unix.Read(socket, b)
	var request rpc.CriuReq
	if err == nil {
		err = proto.Unmarshal(b[:max(n, 0)], &request)
	}
	if err != nil {
		return 9
	}
	answer := func(r *rpc.CriuResp) {
		text, _ := proto.Marshal(r)
		_ = seqpacket.Send(socket, text, nil)
	}
	log := func(text string) { _ = os.WriteFile(criuLog, []byte(text), 0o600) }
	switch mode {
	case "exits":
		log("Error (x.c:1): no such thing\n")
		return 7
	case "is killed":
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	case "says nonsense":
		_ = seqpacket.Send(socket, []byte("nonsense"), nil)
	case "hangs":
		_, _ = unix.Read(socket, b) // until the daemon has closed its end, or kills it
		select {}
	}
	for _, stage := range notified {
		if !request.GetOpts().GetNotifyScripts() {
			break
		}
		answer(&rpc.CriuResp{Type: rpc.CriuReqType_NOTIFY.Enum(), Success: proto.Bool(true),
			Notify: &rpc.CriuNotify{Script: proto.String(stage)}})
		n, err := unix.Read(socket, b)
		var reply rpc.CriuReq
		if err != nil || proto.Unmarshal(b[:max(n, 0)], &reply) != nil || !reply.GetNotifySuccess() {
			log("Error (x.c:2): a script has failed\n")
			break
		}
	}
	r := &rpc.CriuResp{Type: request.Type, Success: proto.Bool(mode == "succeeds"),
		Restore: &rpc.CriuRestoreResp{Pid: proto.Int32(77)}}
	switch mode {
	case "fails":
		log("Warn (x.c:1): beware\nError (x.c:2): cannot dump\n")
	case "answers another":
		r.Type, r.Success = rpc.CriuReqType_CPUINFO_DUMP.Enum(), proto.Bool(true)
	}
	answer(r)
	return 0
}

// runFake runs an operation with a fake CRIU.
func runFake(ctx context.Context, t *testing.T, r *reaper.Reaper, mode string,
	at map[string]func() error) (pid int, err error) {
	t.Helper()
	t.Setenv(fakeVariable, mode)
	work, images := t.TempDir(), t.TempDir()
	network, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	inherit, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer inherit.Close()
	c := &Runner{File: "/proc/self/exe", Reaper: r, work: work}
	pid, err = c.run(ctx, operation{kind: rpc.CriuReqType_RESTORE, options: &rpc.CriuOpts{}, network: network,
		images: images, inherit: []inherited{{key: "pipe:[1]", file: inherit}}, at: at})
	if left, _ := filepath.Glob(work + "/*"); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	return pid, err
}

// TestOperations: whatever CRIU does, the daemon says what it was, and nothing is left of it: no
// process, descriptor or file.
func TestOperations(t *testing.T) {
	r := theReaper()
	before := testkit.OpenFiles(t)
	for mode, want := range map[string]string{
		"succeeds":        "",
		"fails":           "CRIU failed to restore: Error (x.c:2): cannot dump",
		"exits":           "CRIU exited with status 7 during a restore: Error (x.c:1): no such thing",
		"is killed":       "CRIU was killed by signal 9 (killed) during a restore",
		"says nonsense":   "restore: response of CRIU: ",
		"answers another": "CRIU answered a request to restore with CPUINFO_DUMP",
	} {
		t.Run(mode, func(t *testing.T) {
			pid, err := runFake(t.Context(), t, r, mode, nil)
			if want == "" && (err != nil || pid != 77) || want != "" &&
				(err == nil || !strings.HasPrefix(err.Error(), want)) {
				t.Errorf("%d, %v\nwant %s", pid, err, want)
			}
			if failed := strings.HasPrefix(want, "CRIU failed"); errors.Is(err, ErrFailed) != failed {
				t.Errorf("it counts as a failure of CRIU: %t", !failed)
			}
			if len(r.Children) > 0 {
				t.Errorf("%d processes are left", len(r.Children))
			}
		})
	}
	// Those of the last process are closed by a goroutine. Tests before this one may have left some
	// to the garbage collector, so there may be fewer.
	testkit.Await(t, "no descriptor is left", func() bool { return testkit.OpenFiles(t) <= before })
}

// TestStages: hooks are called at their stages, in order. One that fails ends the operation with
// its error, and those after it are not called.
func TestStages(t *testing.T) {
	r := theReaper()
	for name, failAt := range map[string]string{"all succeed": "", "the first fails": afterDump,
		"the last fails": beforeResume} {
		t.Run(name, func(t *testing.T) {
			var called []string
			hook := func(stage string) func() error {
				return func() error {
					called = append(called, stage)
					if stage == failAt {
						return fmt.Errorf("no %s", stage)
					}
					return nil
				}
			}
			_, err := runFake(t.Context(), t, r, "succeeds", map[string]func() error{
				afterDump: hook(afterDump), beforeResume: hook(beforeResume),
				beforeRestore: hook(beforeRestore)})
			want := []string{afterDump, beforeResume}
			if failAt == afterDump {
				want = want[:1]
			}
			if !slices.Equal(called, want) {
				t.Errorf("called at %v, want %v", called, want)
			}
			if failAt == "" && err != nil || failAt != "" && (err == nil ||
				!strings.Contains(err.Error(), "restore: no "+failAt)) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestOperationIsStopped: a CRIU that does not come to an end is killed with the context, whose
// cause is the error.
func TestOperationIsStopped(t *testing.T) {
	r := theReaper()
	why := errors.New("nobody wants it any more")
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	go func() { // as soon as it runs
		for {
			if all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", os.Getpid())); len(all) > 0 {
				for _, file := range all {
					if text, _ := os.ReadFile(file); len(text) > 0 {
						stop(why)
						return
					}
				}
			}
		}
	}()
	if _, err := runFake(ctx, t, r, "hangs", nil); !errors.Is(err, why) ||
		!strings.Contains(err.Error(), "CRIU was stopped during a restore") {
		t.Errorf("%v", err)
	}
}

// TestNoRoomToRun: what is missing before CRIU starts is an error that names it.
func TestNoRoomToRun(t *testing.T) {
	before := testkit.OpenFiles(t)
	work := t.TempDir()
	for name, o := range map[string]struct {
		c      Runner
		images string
		want   string
	}{
		"no directory for the log": {Runner{work: work + "/none"}, work,
			"make a directory for the log of CRIU"},
		"no images": {Runner{work: work}, work + "/none", "open " + work + "/none"},
	} {
		if _, err := o.c.run(t.Context(), operation{images: o.images}); err == nil ||
			!strings.Contains(err.Error(), o.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, _ := filepath.Glob(work + "/*"); len(left) > 0 || testkit.OpenFiles(t) != before {
		t.Errorf("%v are left", left)
	}
}

// TestReceive: the end of CRIU is told from what it says.
func TestReceive(t *testing.T) {
	a, b := testkit.SocketPair(t)
	want := &rpc.CriuResp{Type: rpc.CriuReqType_DUMP.Enum(), Success: proto.Bool(true)}
	text, err := proto.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if err := seqpacket.Send(a, text, []int{a}); err != nil { // a descriptor that nobody has asked for
		t.Fatal(err)
	}
	before := testkit.OpenFiles(t)
	if got, err := receive(b); err != nil || !proto.Equal(got, want) || testkit.OpenFiles(t) != before {
		t.Errorf("%v, %v", got, err)
	}
	unix.Shutdown(a, unix.SHUT_RDWR)
	if _, err := receive(b); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if err := send(b, &rpc.CriuReq{Type: rpc.CriuReqType_DUMP.Enum()}); err != io.EOF {
		t.Errorf("a request after the end: %v", err)
	}
}
