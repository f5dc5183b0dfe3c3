package html

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
)

// markup is what would act if it became a part of the page.
const markup = `</script><img src=x onerror="window.acted=1"><script>window.acted=1</script><b>`

// sampleSource is the source of sample, a line each.
var sampleSource = strings.Split(`package main

func (q *queue) put(job string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = append(q.jobs, job)
	q.ready <- len(q.jobs)
}

func (q *queue) take(conn net.Conn) {
	for range q.ready {
		q.mu.Lock()
		fmt.Fprintln(conn, q.jobs[0])
		q.jobs = q.jobs[1:]
		q.mu.Unlock()
	}
}`, "\n")

// sampleStep is a step of the sample, at a line of its source.
func sampleStep(goroutine int, operation, object string, line int, kind report.Kind) report.Step {
	function := "main.(*queue).put"
	if line > 8 {
		function = "main.(*queue).take"
	}
	source := fmt.Sprintf("queue/main.go:%d", line)
	return report.Step{Goroutine: goroutine, Operation: operation, Object: object, Source: source,
		Function: function, Kind: kind, Stack: []report.Frame{{Function: function, Source: source}}}
}

// sample is a counterexample that has all that a page can show: locks, a channel, bytes to a peer
// and from it, steps in a library, a loop, goroutines that are idle, a restore, and output.
func sample() *report.Counterexample {
	const sync, channel, socket = report.Synchronisation, report.Channel, report.Socket
	c := &report.Counterexample{
		Run: report.Run{Package: "./queue", Args: []string{"-addr", "127.0.0.1:6379"},
			Verdict: report.Violated,
			Reason:  "panic: index out of range", Counts: report.Counts{Executions: 31, Transitions: 2210},
			Assumptions: report.Assumptions{Scope: "group", Preemptible: []string{"example.com/queue/..."}}},
		Failure: report.Failure{Kind: model.Panicked,
			Message: "panic: runtime error: index out of range [0] " +
				"with length 0\n\nmain.(*queue).take(...)\n\tqueue/main.go:13\n" +
				"the queue was emptied in step 30"},
		Goroutines: []report.Goroutine{
			{ID: 1, Name: "main", Function: "main.main"},
			{ID: 2, Name: "main/1", Created: "queue/main.go:22", Function: "main.(*queue).take"},
			{ID: 3, Name: "main/2", Created: "queue/main.go:22", Function: "main.(*queue).take"},
			{ID: 4, Name: "main/3", Created: "queue/main.go:30", Function: "net.(*Resolver).lookup"},
		},
		Sources:       []report.SourcePart{{File: "queue/main.go", First: 1, Lines: sampleSource}},
		ReplayCommand: "tandem replay queue.counterexample",
	}
	add := func(s report.Step, io ...report.Message) {
		s.IO = io
		c.Steps = append(c.Steps, s)
	}
	add(sampleStep(1, "connect", "127.0.0.1:6379", 3, socket),
		report.Message{ToPeer: true, Event: "connect to 127.0.0.1:6379"})
	add(sampleStep(1, "start", "main/1", 3, report.Lifetime))
	add(sampleStep(1, "start", "main/2", 3, report.Lifetime))
	for i := range 5 {
		s := sampleStep(1, []string{"lock", "unlock"}[i%2], "mutex 9", 3, sync)
		s.Library = "example.org/redis"
		s.Stack = []report.Frame{{Function: "example.org/redis.(*Pool).get", Source: "redis/pool.go:88"},
			s.Stack[0]}
		add(s)
	}
	add(sampleStep(2, "start", "", 10, report.Lifetime))
	for range 6 {
		add(sampleStep(2, "atomic load", "variable 1", 11, sync))
		add(sampleStep(2, "yield", "", 11, sync))
	}
	add(sampleStep(1, "lock", "mutex 1", 4, sync))
	add(sampleStep(1, "send on", "channel 1", 7, channel))
	add(sampleStep(1, "unlock", "mutex 1", 5, sync))
	received := sampleStep(2, "receive from", "channel 1", 11, channel)
	received.Preempts = true
	add(received)
	add(sampleStep(2, "lock", "mutex 1", 12, sync))
	write := sampleStep(2, "write", "connection 0", 13, socket)
	write.Restored = "checkpoint 3, after 4 inputs; 1 input replayed"
	add(write, report.Message{ToPeer: true, Data: []byte("GET /jobs/1 HTTP/1.1\r\nHost: x\r\n\r\n")},
		report.Message{Data: []byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nready")})
	add(sampleStep(2, "unlock", "mutex 1", 15, sync))
	add(sampleStep(3, "receive from", "channel 1", 11, channel))
	add(sampleStep(3, "lock", "mutex 1", 12, sync))
	add(sampleStep(3, "panic", "", 13, report.Lifetime))
	c.Outputs = []report.Output{{Step: len(c.Steps) - 5, Wrote: report.Wrote{Peer: "redis",
		Text: []byte("Accepted 127.0.0.1:51514\n")}}}
	c.Inputs, c.Cache = []int{0, len(c.Steps) - 5}, sampleCache()
	return c
}

// sampleCache is the cache of the sample: the request was answered piece by piece, and others did
// something else before it and after it.
func sampleCache() *report.CacheTree {
	tree := &report.CacheTree{LeftOut: 1234, Places: []report.CachePlace{
		{Parent: -1, Sent: []string{"peers: start"}, Checkpoint: "memory", Starts: 1},
		{Parent: 0, Sent: []string{"connect to 127.0.0.1:6379"}, Input: 1, Hits: 30, Checkpoint: "memory"},
	}}
	add := func(p report.CachePlace) int {
		tree.Places = append(tree.Places, p)
		return len(tree.Places) - 1
	}
	last := 1
	for i := range 6 {
		last = add(report.CachePlace{Parent: last, Sent: []string{fmt.Sprintf("piece %d of a request", i)},
			Input: 2, Hits: 20})
	}
	tree.Places[last].Got = []string{"HTTP/1.1 200 OK (head of 38 bytes)", "body, 5 bytes"}
	tree.Places[last].Checkpoint, tree.Places[last].Restores = "criu", 3
	add(report.CachePlace{Parent: last, Sent: []string{"close"}, Hits: 2})
	add(report.CachePlace{Parent: last, Sent: []string{"end of stream"}, Hits: 5})
	quit := add(report.CachePlace{Parent: 1, Sent: []string{`"QUIT\r\n", 6 bytes`}, Hits: 7})
	add(report.CachePlace{Parent: quit, Sent: []string{"close"}, Hits: 6, Checkpoint: "criu"})
	return tree
}

// hostile is a counterexample whose every string has markup.
func hostile() *report.Counterexample {
	c := sample()
	c.Run.Package, c.Run.Args, c.Run.Reason = markup, []string{markup}, markup
	c.Run.Assumptions = report.Assumptions{Scope: markup, Preemptible: []string{markup},
		Other: []string{markup}}
	c.Failure = report.Failure{Kind: model.Exited, Message: markup + "step 1", Printed: markup, Status: 1}
	c.ReplayCommand = markup
	for i := range c.Goroutines {
		g := &c.Goroutines[i]
		g.Name, g.Function, g.Created, g.Blocked = markup, markup, markup, markup
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		s.Operation, s.Object, s.Source, s.Function, s.Library = markup, markup, markup, markup, ""
		s.Kind, s.Restored = markup, markup
		s.Stack = []report.Frame{{Function: markup, Source: markup + ":1"}}
		s.IO = []report.Message{{ToPeer: true, Data: []byte(markup)}, {About: markup, Event: markup},
			{Data: []byte("HTTP/1.1 200 " + markup + "\r\nX: " + markup + "\r\n\r\n")}}
	}
	c.Outputs = []report.Output{{Step: 1, Wrote: report.Wrote{Peer: markup, Text: []byte(markup)}}}
	c.Sources = []report.SourcePart{{File: markup, First: 1, Lines: []string{markup}}}
	for i := range c.Cache.Places {
		p := &c.Cache.Places[i]
		p.Sent, p.Got, p.Checkpoint = []string{markup}, []string{markup, markup}, markup
	}
	return c
}

// long is a counterexample with as many steps, of which hardly any repeats the one before: the
// worst that a recording may be.
func long(steps int) *report.Counterexample {
	random := rand.New(rand.NewPCG(1, 2))
	c := &report.Counterexample{Run: report.Run{Package: "./long", Verdict: report.Violated},
		Failure: report.Failure{Kind: model.Deadlock, Message: "deadlock"}}
	for i := range 24 {
		c.Goroutines = append(c.Goroutines, report.Goroutine{ID: i, Name: fmt.Sprint("main/", i),
			Function: "main.work"})
	}
	for range steps {
		n := random.IntN(400)
		s := report.Step{Goroutine: random.IntN(24), Operation: []string{"lock", "unlock"}[random.IntN(2)],
			Object: fmt.Sprint("mutex ", n%50), Source: fmt.Sprint("long/main.go:", n), Function: "main.work",
			Kind: report.Synchronisation, Preempts: random.IntN(9) == 0}
		if random.IntN(50) == 0 {
			s.Kind, s.Object = report.Socket, "connection 0"
			s.Operation = "write"
			s.IO = []report.Message{{ToPeer: true, Data: fmt.Appendf(nil, "SET key%d %d\r\n", n,
				random.Uint64())}}
		}
		c.Steps = append(c.Steps, s)
	}
	return c
}
