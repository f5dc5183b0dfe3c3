package away

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tandem-mc/tandem/check/internal/nodes/kept"
	"github.com/tandem-mc/tandem/check/internal/nodes/lives"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// sent is an event with which a node sends something.
func sent(conn string) skeleton.Event {
	d := network.Event{Kind: model.Send, Conn: conn}
	return skeleton.Event{Name: skeleton.Name{Component: 1, Stream: conn, N: 1}, Label: d}
}

// example is an item with an event of each kind.
func example() *Task {
	item := skeleton.Item{Key: "k", Local: skeleton.Local{Events: []skeleton.Event{sent("a#1")}},
		Arrivals: []skeleton.Arrival{{Send: sent("b#1")}}}
	all := map[network.Event][]byte{}
	for _, conn := range []string{"a#1", "b#1", "c#1"} {
		e := sent(conn)
		all[network.Did(&e)] = []byte(conn)
	}
	return &Task{Item: item, Data: DataOf(&item, all), Ordered: []bool{false, true},
		Parted: &network.Partition{Links: [][2]int{{0, 1}}, Until: 1}, Known: []string{"x"}, Wanted: 2,
		Runs: 7, Executions: 9}
}

// TestTask: an item crosses with the data of its events, and no other.
func TestTask(t *testing.T) {
	task := example()
	if len(task.Data) != 2 {
		t.Errorf("data of %d events, want 2", len(task.Data))
	}
	data, err := task.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeTask(data)
	if err != nil {
		t.Fatal(err)
	}
	// What the leader knows of an item does not cross.
	if diff := cmp.Diff(task, got, cmpopts.IgnoreUnexported(skeleton.Item{})); diff != "" {
		t.Error(diff)
	}
	if _, err := DecodeTask(data[:len(data)/2]); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("half of it: %v", err)
	}
}

// TestAnswer: an answer crosses as it is.
func TestAnswer(t *testing.T) {
	e := sent("a#1")
	answer := &Answer{Runs: 3, Report: kept.Report{Key: "k", IsExplored: true, Explored: skeleton.Exploration{
		Traces: 2, Branches: []skeleton.Branch{{Before: []skeleton.Event{e}, Event: &e}}}},
		Ways:  map[string]lives.Lives{"w": {{Crash: 4}}},
		Found: []Finding{{Finding: kept.Finding{Outcome: model.Panicked}, Key: "y"}}, Ended: true, Order: 1}
	data, err := answer.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeAnswer(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(answer, got, cmpopts.IgnoreUnexported(skeleton.Item{})); diff != "" {
		t.Error(diff)
	}
}

// FuzzDecode: whatever comes is an item, an answer, or an error.
func FuzzDecode(f *testing.F) {
	data, err := example().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		if task, err := DecodeTask(data); err == nil {
			if _, err := task.Encode(); err != nil {
				t.Error(err)
			}
		}
		if answer, err := DecodeAnswer(data); err == nil {
			if _, err := answer.Encode(); err != nil {
				t.Error(err)
			}
		}
	})
}
