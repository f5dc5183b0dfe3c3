package model

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
	"unsafe"
)

// End says how a peer has ended its stream. The numbers are those of the shared memory.
type End uint8

// The ends of a stream. A stream that ended with EOF may still be Reset later.
const (
	StillOpen End = iota
	EOF
	Reset
	ends
)

var endNames = [ends]string{StillOpen: "open", EOF: "EOF", Reset: "reset"}

// String names the end the way messages do.
func (e End) String() string {
	if e < ends {
		return endNames[e]
	}
	return fmt.Sprintf("End(%d)", uint8(e))
}

// MarshalText names the end the way files do, where StillOpen is left out.
func (e End) MarshalText() ([]byte, error) { return bytes.ToLower([]byte(e.String())), nil }

// UnmarshalText reads what MarshalText has written for an end that there is. No text is StillOpen.
func (e *End) UnmarshalText(text []byte) error {
	switch string(text) {
	case "":
		*e = StillOpen
	case "eof":
		*e = EOF
	case "reset":
		*e = Reset
	default:
		return fmt.Errorf("unknown end of a stream %q, want eof, reset or nothing", text)
	}
	return nil
}

// Delivery is what one connection received from its peer.
type Delivery struct {
	Conn int    `json:"conn"`
	Data []byte `json:"data,omitempty"`
	End  End    `json:"end,omitempty"` // after Data
}

// Ending says that a peer's process has ended.
type Ending struct {
	Peer   int // its index in the group
	Status int // as wait(2) has it
}

// Reaction is all that the group did after an input until it was quiescent. The order between
// connections cannot be observed and is not kept. In its normal form it has at most one delivery
// for each connection, in the order of their numbers.
type Reaction struct {
	Refused int // errno of a connect or listen that failed; 0: none did
	// Opened are the connections that the group has made: for each the number of the
	// listener. They get the next numbers, in this order.
	Opened     []int
	Deliveries []Delivery
	Ended      []Ending // in the order of Peer, each once
	Time       Time     // of a Pass
}

// Time says how far time has gone with a Pass. It is part of the answer, but not compared: peers
// on the machine's clock are a little late each time.
type Time struct {
	// Passed is not more than Input.Most, if that is neither 0 nor Once. A node that was paused is
	// told more: it has not run meanwhile, and its timers are late.
	Passed time.Duration
	// Idle says that no timer of the group is due soon enough to be waited for: until
	// the next other input nothing comes from it.
	Idle bool
	// Tie says that a timer of the group is due at the same time as that of the program: either
	// may be first.
	Tie bool
	// Due is when the first timer of the group would be due that was not waited for, counted from
	// the end of the Pass, and Peer whose it is. 0: there is none.
	Due  time.Duration
	Peer int
}

// Touch is an access to an object that stands for something which the answers to several inputs
// depend on.
type Touch struct {
	Object ObjectID
	Kind   AccessKind
}

// Gate says what decides how much a connection has received: objects that inputs touch. Whoever
// takes from the connection reads Passed, which stands for what has arrived last. Whoever finds
// nothing there reads Next, which stands for what comes next. With 0 there is none.
type Gate struct {
	Conn         int
	Passed, Next ObjectID
}

// Answer is what an execution is told of an input: the reaction, and what is not in a reaction
// because it depends on the execution.
type Answer struct {
	Reaction
	Conn    int // of the input; Connect, Listen: the number of the new connection or listener
	First   int // the number of the first connection of Opened
	Clients int // how many of the peers that are clients have not ended
	// Local is, of a Connect, where the program's end of the connection is, such as 10.0.0.1:7000:
	// its port takes the place of the one that the program has chosen. Ends are those of Opened. If
	// both are empty, they are left to the program.
	Local string
	Ends  []Ends
	// Again says, of a Pass, that the program is to ask once more before its clock advances.
	Again bool
	// Touched are what the transition of the input accesses besides what it does to connections.
	Touched []Touch
	// Gates are new ones of connections, with those that are opened now.
	Gates []Gate
	// Failure ends the execution with a failed assertion, for this reason, if it is not empty.
	Failure string
	// Crash ends the execution before the input takes effect, if it is not nil. Of the rest of the
	// answer only Touched counts then.
	Crash *Crash
	// Halts has the goroutine of the input wait for ever from here on: the rest of the execution
	// shows what others do without it.
	Halts bool
}

// Ends is where a connection is: its end in the program, and the other one.
type Ends struct{ Local, Remote string }

// Crash is how a program crashes.
type Crash struct {
	// Lost is how many operations on the disk are lost at most: the last of those that are not
	// durable. With 0 the machine goes on, so that none is.
	Lost int
}

// Equal reports whether two answers are the same. Their reactions are in their normal form.
func (a Answer) Equal(other Answer) bool {
	return a.Reaction.Equal(other.Reaction) && a.Conn == other.Conn && a.First == other.First &&
		a.Clients == other.Clients && a.Again == other.Again && a.Failure == other.Failure &&
		a.Halts == other.Halts && slices.Equal(a.Touched, other.Touched) && a.Local == other.Local &&
		slices.Equal(a.Ends, other.Ends) && slices.Equal(a.Gates, other.Gates) &&
		(a.Crash == nil) == (other.Crash == nil) &&
		(a.Crash == nil || *a.Crash == *other.Crash)
}

// String shows the reaction on one line; long data is cut short.
func (r Reaction) String() string {
	var parts []string
	if r.Refused != 0 {
		parts = append(parts, fmt.Sprintf("refused(errno %d)", r.Refused))
	}
	for _, l := range r.Opened {
		parts = append(parts, fmt.Sprintf("opened(at %d)", l))
	}
	for _, d := range r.Deliveries {
		part := fmt.Sprintf("%d:", d.Conn)
		if len(d.Data) > 0 {
			part += quote(d.Data)
		}
		if d.End != StillOpen {
			part += d.End.String()
		}
		parts = append(parts, part)
	}
	for _, e := range r.Ended {
		parts = append(parts, fmt.Sprintf("ended(peer %d, status %d)", e.Peer, e.Status))
	}
	if r.Time.Passed > 0 {
		parts = append(parts, fmt.Sprintf("after %v", r.Time.Passed))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, " ")
}

// Normal brings a reaction into the form in which equal ones are identical: one delivery for each
// connection that received something, and endings, in their order. It shares the memory of r.
func (r Reaction) Normal() Reaction {
	if !slices.IsSortedFunc(r.Ended, Ending.compare) {
		r.Ended = slices.SortedStableFunc(slices.Values(r.Ended), Ending.compare)
	}
	normal := true
	for i, d := range r.Deliveries {
		empty := len(d.Data) == 0 && d.End == StillOpen
		normal = normal && !empty && (i == 0 || r.Deliveries[i-1].Conn < d.Conn)
	}
	if normal {
		return r
	}
	sorted := slices.Clone(r.Deliveries)
	slices.SortStableFunc(sorted, Delivery.compare)
	var merged []Delivery
	for _, d := range sorted {
		switch last := len(merged) - 1; {
		case len(d.Data) == 0 && d.End == StillOpen:
		case last >= 0 && merged[last].Conn == d.Conn:
			merged[last].Data = slices.Concat(merged[last].Data, d.Data)
			merged[last].End = max(merged[last].End, d.End)
		default:
			merged = append(merged, d)
		}
	}
	r.Deliveries = merged
	return r
}

// Joined is one reaction after the other. Of a single one it shares the memory.
type Joined struct {
	Reaction
	own bool // the memory
}

// Add appends a reaction. Both must be normal, and the result is.
func (j *Joined) Add(next Reaction) {
	switch {
	case next.Empty():
		return
	case j.Empty():
		j.Reaction = next
		return
	case !j.own:
		j.Reaction, j.own = j.Clone(), true
	}
	j.Refused = max(j.Refused, next.Refused)
	j.Opened, j.Ended = append(j.Opened, next.Opened...), append(j.Ended, next.Ended...)
	slices.SortStableFunc(j.Ended, Ending.compare)
	for _, d := range next.Deliveries {
		i, found := slices.BinarySearchFunc(j.Deliveries, d, Delivery.compare)
		if !found {
			d.Data = bytes.Clone(d.Data)
			j.Deliveries = slices.Insert(j.Deliveries, i, d)
			continue
		}
		earlier := &j.Deliveries[i]
		earlier.Data, earlier.End = append(earlier.Data, d.Data...), max(earlier.End, d.End)
	}
}

func (d Delivery) compare(other Delivery) int { return d.Conn - other.Conn }

func (e Ending) compare(other Ending) int { return e.Peer - other.Peer }

// Minus is what remains of r after the reaction first; ok is false if r does not
// begin with first. Both must be normal.
func (r Reaction) Minus(first Reaction) (remainder Reaction, ok bool) {
	if first.Empty() {
		return r, true
	}
	n := len(first.Opened)
	if r.Refused != first.Refused || len(r.Opened) < n || !slices.Equal(r.Opened[:n], first.Opened) {
		return Reaction{}, false
	}
	remainder.Opened = r.Opened[n:]
	for _, e := range r.Ended {
		if len(first.Ended) > 0 && first.Ended[0] == e {
			first.Ended = first.Ended[1:]
			continue
		}
		remainder.Ended = append(remainder.Ended, e)
	}
	for _, d := range r.Deliveries {
		if len(first.Deliveries) > 0 && first.Deliveries[0].Conn == d.Conn {
			d, ok = d.minus(first.Deliveries[0])
			if !ok {
				return Reaction{}, false
			}
			first.Deliveries = first.Deliveries[1:]
		}
		if len(d.Data) > 0 || d.End != StillOpen {
			remainder.Deliveries = append(remainder.Deliveries, d)
		}
	}
	return remainder, len(first.Deliveries) == 0 && len(first.Ended) == 0
}

// minus is what remains of d after first. A stream that first has ended can only
// have been reset afterwards.
func (d Delivery) minus(first Delivery) (remainder Delivery, ok bool) {
	if !bytes.HasPrefix(d.Data, first.Data) || d.End < first.End {
		return d, false
	}
	d.Data = d.Data[len(first.Data):]
	if first.End == StillOpen {
		return d, true
	}
	if d.End == first.End {
		d.End = StillOpen
	}
	return d, len(d.Data) == 0
}

// Empty reports whether the group has done nothing, and no time has passed.
func (r Reaction) Empty() bool {
	return !r.Shows() && r.Time == (Time{})
}

// Shows reports whether the group has done anything that the program can notice.
func (r Reaction) Shows() bool {
	return r.Refused != 0 || len(r.Opened) > 0 || len(r.Deliveries) > 0 || len(r.Ended) > 0
}

// Equal reports whether two reactions in their normal form are the same.
func (r Reaction) Equal(other Reaction) bool {
	return r.Refused == other.Refused && r.Time == other.Time &&
		slices.Equal(r.Opened, other.Opened) && slices.Equal(r.Ended, other.Ended) &&
		slices.EqualFunc(r.Deliveries, other.Deliveries, func(a, b Delivery) bool {
			return a.Conn == b.Conn && a.End == b.End && bytes.Equal(a.Data, b.Data)
		})
}

// Clone copies the reaction into memory of its own.
func (r Reaction) Clone() Reaction {
	r.Opened, r.Ended = slices.Clone(r.Opened), slices.Clone(r.Ended)
	r.Deliveries = slices.Clone(r.Deliveries)
	for i := range r.Deliveries {
		r.Deliveries[i].Data = bytes.Clone(r.Deliveries[i].Data)
	}
	return r
}

// Size is the memory that a reaction holds besides itself.
func (r Reaction) Size() int64 {
	size := int64(len(r.Deliveries)) * int64(unsafe.Sizeof(Delivery{}))
	size += int64(len(r.Opened)) * int64(unsafe.Sizeof(int(0)))
	size += int64(len(r.Ended)) * int64(unsafe.Sizeof(Ending{}))
	for _, d := range r.Deliveries {
		size += int64(len(d.Data))
	}
	return size
}
