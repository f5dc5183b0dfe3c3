// Package away is how an item of an exploration crosses to another process, and what was found
// comes back. An item stands for itself: it says what the node does, what arrives there, and when.
// Who explores it needs to know the programs, and nothing else of the exploration. Who runs all
// nodes for one needs the schedules that are known to lead where it begins.
package away

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"

	"github.com/tandem-mc/tandem/check/internal/nodes/kept"
	"github.com/tandem-mc/tandem/check/internal/nodes/lives"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
)

// Workers are those who explore items elsewhere. Several goroutines ask them at the same time.
type Workers interface {
	// Gather says how many there are now, and is told how many executions there were so far.
	Gather(executions int) int
	// Do has a task done; done is false if nobody has done it. Then it is done here.
	Do(ctx context.Context, task []byte) (answer []byte, done bool)
}

// Task is an item, with what has to be known to explore it.
type Task struct {
	Item skeleton.Item
	// Data is what was sent in the events of the item.
	Data map[network.Event][]byte
	// Ordered are the nodes whose events are in one order, and Parted is when the network is
	// parted.
	Ordered []bool
	Parted  *network.Partition
	// Ways are schedules, as far as the item seems to need them.
	Ways map[string]lives.Lives
	// Known are the violations of the node that were found before, and Wanted is after how many
	// more the exploration ends.
	Known  []string
	Wanted int
	// Runs is how many executions there were before, and Executions how many there may be; 0: there
	// is no bound.
	Runs, Executions int
}

// Answer is what an item has come to.
type Answer struct {
	Runs     int
	Report   kept.Report
	Ways     map[string]lives.Lives
	Data     map[network.Event][]byte
	Nobody   map[network.Stray]bool
	Outcomes []string
	Unknown  string
	Never    string
	// Missed are schedules that were looked for in vain. If one of them is known, the item would
	// have come to something else with it.
	Missed []string
	Found  []Finding
	Stuck  []Finding
	// Known are the violations that were found.
	Known []string
	// Ended says that the exploration ends with it, and Order that it begins anew, with a node in
	// one order: the number of that, from 1 on.
	Ended bool
	Order int
}

// Finding is a violation of the node.
type Finding struct {
	kept.Finding
	Key string
}

// DataOf is the data of the events of an item, of all data.
func DataOf(item *skeleton.Item, all map[network.Event][]byte) map[network.Event][]byte {
	some := map[network.Event][]byte{}
	add := func(list ...skeleton.Event) {
		for i := range list {
			d := network.Did(&list[i])
			if data, ok := all[d]; ok {
				some[d] = data
			}
		}
	}
	add(item.Local.Events...)
	for i := range item.Prefix {
		add(item.Prefix[i].Events...)
	}
	for i := range item.Arrivals {
		add(item.Arrivals[i].Send)
	}
	return some
}

// Encode returns what DecodeTask takes.
func (t *Task) Encode() ([]byte, error) { return encode(t) }

// DecodeTask is the inverse of Task.Encode.
func DecodeTask(data []byte) (*Task, error) { return decode[Task](data) }

// Encode returns what DecodeAnswer takes.
func (a *Answer) Encode() ([]byte, error) { return encode(a) }

// DecodeAnswer is the inverse of Answer.Encode.
func DecodeAnswer(data []byte) (*Answer, error) { return decode[Answer](data) }

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(v); err != nil {
		return nil, fmt.Errorf("writing an item of an exploration: %w", err)
	}
	return b.Bytes(), nil
}

func decode[T any](data []byte) (*T, error) {
	v := new(T)
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(v); err != nil {
		return nil, fmt.Errorf("reading an item of an exploration, which is damaged: %w", err)
	}
	return v, nil
}
