package narrate

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/sut"
)

// Difference says where two executions of one schedule part; "" if nowhere. The second may have
// been cut off by an input to the peers that the first did not have. Events are compared first,
// then the end, the output, and standard error. Addresses in fatal errors do not count.
func Difference(p *sut.Program, first, again *sut.Log, cut error) string {
	if at := FirstDifference(first.Events, again.Events); at >= 0 {
		return fmt.Sprintf("event %d of %d\n\tfirst: %s\n\tagain: %s%s", at+1, len(first.Events),
			tell(p, first, at, nil), tell(p, again, at, cut), DifferingFields(first.Events, again.Events, at))
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

// DifferingFields says in what two logs differ at an event, since the words for both may be the
// same. Fields are found by reflection, so that a new one is not forgotten. at may be behind the
// end of one log, which gives no text.
func DifferingFields(first, again []sut.Event, at int) string {
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
		name := strings.ToLower(a.Type().Field(i).Name)
		fmt.Fprintf(&b, "\n\tdiffering: %s "+form+", again "+form, name, x, y)
	}
	return b.String()
}

var address = regexp.MustCompile(`0x[0-9a-f]+`)

// withoutAddresses is what an execution wrote to standard error. After a fatal error, such as the
// overflow of a stack, that has addresses on the stack that the kernel gave to the process, and the
// next execution is another process.
func withoutAddresses(log *sut.Log) []byte {
	if log.Outcome != sut.Fatal {
		return log.Stderr
	}
	return address.ReplaceAll(log.Stderr, []byte("0x"))
}

// differingBytes shows two texts from their first difference on. At most 60 bytes of each are
// shown.
func differingBytes(first, again []byte) string {
	at := 0
	for at < min(len(first), len(again)) && first[at] == again[at] {
		at++
	}
	return fmt.Sprintf(" at byte %d\n\tfirst: %.60q\n\tagain: %.60q", at+1, first[at:], again[at:])
}

// tell says what happened in an event: which goroutine did what, and where. cut is the error that
// ended the second execution, if the event is missing there.
func tell(p *sut.Program, log *sut.Log, at int, cut error) string {
	if at >= len(log.Events) {
		if cut != nil {
			return cut.Error()
		}
		return fmt.Sprintf("the execution has ended: %v", log.Outcome)
	}
	// The whole log is told, since a goroutine may be named later than its first event.
	n := newNarrator(p, log, nil)
	n.narrate()
	name := func(id uint64) string { return n.result.Goroutines[n.names[id]].Name }
	acting := "main"
	for _, e := range log.Events[:at] {
		if e.Kind == sut.Stepped {
			acting = name(e.Subject)
		}
	}
	return describeEvent(&log.Events[at], acting, name) + EventPlace(p, log.Events, at)
}

// describeEvent puts an event into words. acting is the goroutine that runs.
func describeEvent(e *sut.Event, acting string, name func(id uint64) string) string {
	switch e.Kind {
	case sut.Stepped:
		return fmt.Sprintf("%s runs: %v, alternative %d of %d",
			name(e.Subject), e.Operation, e.Alternative()+1, e.Choices)
	case sut.Spawned:
		return fmt.Sprintf("%s starts %s", acting, name(e.Subject))
	case sut.Woke:
		return fmt.Sprintf("%s wakes %s", acting, name(e.Subject))
	case sut.Ticked:
		return fmt.Sprintf("the clock advances to %.9f s", e.Time().Seconds())
	case sut.Enabled:
		return fmt.Sprintf("%s can run: %v, %d alternatives", name(e.Subject), e.Operation, e.Choices)
	case sut.Exchanged:
		return fmt.Sprintf("%s gives %d bytes to connection %d, hash %x",
			acting, e.Bytes(), e.Subject, e.Object)
	case sut.Delivered:
		return fmt.Sprintf("%d bytes arrive on connection %d, hash %x", e.Bytes(), e.Subject, e.Object)
	case sut.Estimated:
		return fmt.Sprintf("%s estimates %d", acting, e.Estimate())
	case sut.Ended:
		return name(e.Subject) + " ends"
	case sut.Pending, sut.Left:
		return fmt.Sprintf("%s is left at: %v", name(e.Subject), e.Operation)
	}
	return fmt.Sprintf("%s: %v, object %#x", acting, e.Operation, e.Subject)
}

// FirstDifference is the index of the first event in which two logs differ, or -1. Two logs of
// different length, equal so far, differ at the end of the shorter one.
func FirstDifference(a, b []sut.Event) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}

// EventPlace is where in the program an event happened, in parentheses; empty where that is not
// known.
func EventPlace(p *sut.Program, events []sut.Event, at int) string {
	if at >= len(events) {
		return ""
	}
	where, ok := p.Position(events[at].PC)
	if !ok {
		return ""
	}
	return fmt.Sprintf(" (%v at %v)", events[at].Operation, where)
}

// WithoutEnabled is what happened, without what could have happened, which only some searches want
// to know. The list is a copy.
func WithoutEnabled(events []sut.Event) []sut.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e sut.Event) bool { return e.Kind == sut.Enabled })
}

// EventHash is equal for two logs exactly if all of their events are, but for Open, which follows
// from the rest. Integers are written in a fixed width, without reflection, since it runs for each
// event.
func EventHash(events []sut.Event) string {
	h := sha256.New()
	var b [40]byte
	for i := range events {
		e := &events[i]
		b[0], b[1], b[2], b[3] = byte(e.Kind), byte(e.Operation), byte(e.Access), e.Ready
		binary.LittleEndian.PutUint32(b[4:], e.Number)
		binary.LittleEndian.PutUint32(b[8:], e.Choices)
		binary.LittleEndian.PutUint64(b[16:], e.Subject)
		binary.LittleEndian.PutUint64(b[24:], e.Object)
		binary.LittleEndian.PutUint64(b[32:], e.PC)
		h.Write(b[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}
