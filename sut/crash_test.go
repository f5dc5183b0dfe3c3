package sut_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// crashing are peers at whose input the program crashes, counted from 1.
type crashing struct {
	sut.Peers
	at, lost int
	inputs   []string
	unsynced []int // at each input
}

func (c *crashing) Exchange(in model.Input) (model.Answer, error) {
	c.inputs, c.unsynced = append(c.inputs, in.String()), append(c.unsynced, in.Unsynced)
	if len(c.inputs) == c.at {
		// All but what is touched is not looked at.
		return model.Answer{Crash: &model.Crash{Lost: c.lost}, Failure: "it goes on",
			Reaction: model.Reaction{Refused: 111, Deliveries: []model.Delivery{{Conn: 5}}},
			Touched:  []model.Touch{{Object: 1<<63 | 5, Kind: model.Write}}}, nil
	}
	return c.Peers.Exchange(in)
}

// TestCrashAtInputs: an execution ends at the input whose answer says so. What it did before is as
// in an execution that goes on, and of the answer it accesses what that touches.
func TestCrashAtInputs(t *testing.T) {
	world := sut.Environment{Inputs: sut.Inputs{Taken: true, Crashes: true}}
	logs := map[int]sut.Log{}
	for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork} {
		w := startIn(t, isolation, world, "echo")
		whole := &crashing{Peers: &echoServer{}}
		all := copyLog(run(t, w, sut.Schedule{}, whole))
		if len(whole.inputs) < 10 {
			t.Fatalf("only %d inputs: %q", len(whole.inputs), whole.inputs)
		}
		for at := 1; at <= len(whole.inputs); at += 1 + at/10 {
			peers := &crashing{Peers: &echoServer{}, at: at}
			log := copyLog(run(t, w, sut.Schedule{}, peers))
			if log.Outcome != sut.Crashed || log.Outcome.String() != "crash" || len(log.Stack) == 0 {
				t.Fatalf("at input %d: %v %q, stack %x", at, log.Outcome, log.Message, log.Stack)
			}
			if diff := cmp.Diff(whole.inputs[:at], peers.inputs); diff != "" {
				t.Errorf("inputs up to the crash at %d:\n%s", at, diff)
			}
			end := len(log.Events)
			for log.Events[end-1].Kind == sut.Pending || log.Events[end-1].Kind == sut.Intended {
				end--
			}
			if touch := log.Events[end-1]; touch.Kind != sut.Accessed || touch.Subject != 1<<63|5 {
				t.Errorf("at input %d: the last event is %+v", at, touch)
			}
			if diff := cmp.Diff(all.Events[:end-1], log.Events[:end-1]); diff != "" {
				t.Errorf("events before the crash at input %d:\n%s", at, diff)
			}
			if other, known := logs[at]; known {
				if diff := cmp.Diff(other, log); diff != "" {
					t.Errorf("isolations differ at input %d:\n%s", at, diff)
				}
			}
			logs[at] = log
		}
	}
}

// TestCrashUnasked: an answer that has a program crash is a mistake where the environment does not
// say that it may.
func TestCrashUnasked(t *testing.T) {
	w := start(t, sut.Snapshot, "echo")
	_, err := w.Run(sut.Schedule{}, &crashing{Peers: &echoServer{}, at: 1})
	const want = "an answer has the program crash, but Environment.Crashes is not set"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}
