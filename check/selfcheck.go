package check

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// selfCheck runs an execution twice more, in the same worker and in one that is
// kept apart in the other way, and compares event by event and byte by byte. The
// peers are not asked again: their first answers are given. What is returned is
// a copy of the first log, which outlives the others.
func (x *executor) selfCheck(s sut.Schedule, first *sut.Log, answers []driver.Exchange) (*sut.Log, error) {
	kept := *first
	kept.Events = append([]sut.Event(nil), first.Events...)
	twin, err := x.otherWorker()
	if err != nil {
		return nil, err
	}
	for _, again := range []struct {
		worker *sut.Worker
		where  string
	}{{x.worker, "the same process"}, {twin, "a process of its own"}} {
		log, err := again.worker.Run(s, recorded(x.talk != nil, answers))
		if log == nil {
			return nil, fmt.Errorf("self-check in %s: %w", again.where, err)
		}
		if d := x.run.difference(&kept, log, err); d != "" {
			return nil, fmt.Errorf("the program is not deterministic: something reaches it that is not controlled. "+
				"A schedule, run again in %s, differs: %s", again.where, d)
		}
	}
	return &kept, nil
}

// otherWorker returns the worker for self-checks, which isolates its executions
// in the way that the other one does not.
func (x *executor) otherWorker() (*sut.Worker, error) {
	if x.twin != nil {
		return x.twin, nil
	}
	isolation := sut.Fork
	if x.run.options.Isolation == sut.Fork {
		isolation = sut.Snapshot
	}
	var err error
	x.twin, err = x.start(isolation)
	return x.twin, err
}

// difference says where two executions of one schedule part; "" if nowhere. The
// second may have been cut off by an input to the peers that the first did not have.
func (r *run) difference(first, again *sut.Log, cut error) string {
	if at := firstDifference(first.Events, again.Events); at >= 0 {
		return fmt.Sprintf("event %d of %d\n\tfirst: %s\n\tagain: %s%s", at+1, len(first.Events),
			r.tell(first, at, nil), r.tell(again, at, cut), r.differingFields(first.Events, again.Events, at))
	}
	switch {
	case first.Outcome != again.Outcome || first.ExitCode != again.ExitCode || first.Message != again.Message:
		return fmt.Sprintf("its end\n\tfirst: %v, exit code %d %s\n\tagain: %v, exit code %d %s",
			first.Outcome, first.ExitCode, first.Message, again.Outcome, again.ExitCode, again.Message)
	case !bytes.Equal(first.Stdout, again.Stdout):
		return "its output" + differingBytes(first.Stdout, again.Stdout)
	case !bytes.Equal(withoutAddresses(first), withoutAddresses(again)):
		return "its standard error" + differingBytes(first.Stderr, again.Stderr)
	}
	return ""
}

// differingFields says in what two logs differ at an event, since the words for both may be the
// same.
func (r *run) differingFields(first, again []sut.Event, at int) string {
	if at >= min(len(first), len(again)) {
		return ""
	}
	var b strings.Builder
	a, c := reflect.ValueOf(first[at]), reflect.ValueOf(again[at])
	for i := range a.NumField() {
		x, y := a.Field(i).Interface(), c.Field(i).Interface()
		if x == y {
			continue
		}
		form := "%v"
		if a.Field(i).Kind() == reflect.Uint64 { // the name of something, or a place in the program
			form = "%#x"
		}
		fmt.Fprintf(&b, "\n\tdiffering: %s "+form+", again "+form, strings.ToLower(a.Type().Field(i).Name), x, y)
	}
	return b.String()
}

var address = regexp.MustCompile(`0x[0-9a-f]+`)

// withoutAddresses is what an execution wrote to standard error. After a fatal error, such as the
// overflow of a stack, that has addresses on the stack that the kernel gave to the process, and
// the next execution is another process.
func withoutAddresses(log *sut.Log) []byte {
	if log.Outcome != sut.Fatal {
		return log.Stderr
	}
	return address.ReplaceAll(log.Stderr, []byte("0x"))
}

// differingBytes shows two texts from their first difference on.
func differingBytes(first, again []byte) string {
	at := 0
	for at < min(len(first), len(again)) && first[at] == again[at] {
		at++
	}
	return fmt.Sprintf(" at byte %d\n\tfirst: %.60q\n\tagain: %.60q", at+1, first[at:], again[at:])
}

// tell says what happened in an event: which goroutine did what, and where.
func (r *run) tell(log *sut.Log, at int, cut error) string {
	if at >= len(log.Events) {
		if cut != nil {
			return cut.Error()
		}
		return fmt.Sprintf("the execution has ended: %v", log.Outcome)
	}
	n := newNarrator(r.options.Program, log, nil)
	n.narrate()
	name := func(id uint64) string { return n.result.Goroutines[n.names[id]].Name }
	acting := "main"
	for _, e := range log.Events[:at] {
		if e.Kind == sut.Stepped {
			acting = name(e.Subject)
		}
	}
	return describeEvent(&log.Events[at], acting, name) + r.eventPlace(log.Events, at)
}

// describeEvent puts an event into words. acting is the goroutine that runs.
func describeEvent(e *sut.Event, acting string, name func(id uint64) string) string {
	switch e.Kind {
	case sut.Stepped:
		return fmt.Sprintf("%s runs: %v, alternative %d of %d", name(e.Subject), e.Operation, e.Alternative()+1, e.Choices)
	case sut.Spawned:
		return fmt.Sprintf("%s starts %s", acting, name(e.Subject))
	case sut.Woke:
		return fmt.Sprintf("%s wakes %s", acting, name(e.Subject))
	case sut.Ticked:
		return fmt.Sprintf("the clock advances to %.9f s", e.Time().Seconds())
	case sut.Enabled:
		return fmt.Sprintf("%s can run: %v, %d alternatives", name(e.Subject), e.Operation, e.Choices)
	case sut.Exchanged:
		return fmt.Sprintf("%s gives %d bytes to connection %d, hash %x", acting, e.Bytes(), e.Subject, e.Object)
	case sut.Delivered:
		return fmt.Sprintf("%d bytes arrive on connection %d, hash %x", e.Bytes(), e.Subject, e.Object)
	case sut.Ended:
		return name(e.Subject) + " ends"
	case sut.Pending, sut.Left:
		return fmt.Sprintf("%s is left at: %v", name(e.Subject), e.Operation)
	}
	return fmt.Sprintf("%s: %v, object %#x", acting, e.Operation, e.Subject)
}

// recorded returns peers that answer as they did, if there were any.
func recorded(peers bool, exchanges []driver.Exchange) sut.Peers {
	if !peers {
		return nil
	}
	return &recordedPeers{exchanges: exchanges}
}

// recordedPeers answer as they did when an execution was first run.
type recordedPeers struct {
	exchanges []driver.Exchange
	given     int // of the exchanges, so far
}

// Exchange implements sut.Peers.
func (p *recordedPeers) Exchange(in model.Input) (model.Answer, error) {
	if p.given == len(p.exchanges) {
		return model.Answer{}, fmt.Errorf("the program made more than the %d recorded inputs to its peers", p.given)
	}
	x := &p.exchanges[p.given]
	same := x.Input.Kind == in.Kind && string(x.Input.Data) == string(in.Data) &&
		x.Input.Addr == in.Addr && x.Input.Behaviour == in.Behaviour && (in.Addr != "" || x.Input.Conn == in.Conn) && x.Input.Most == in.Most
	if !same {
		return model.Answer{}, fmt.Errorf("input %d to the peers differs from the one recorded", p.given+1)
	}
	p.given++
	return x.Answer, nil
}
