package iocache

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unsafe"
)

// String names the kind the way messages do.
func (k Kind) String() string {
	names := [...]string{Connect: "connect", Send: "send", Shutdown: "shutdown", Close: "close", Choose: "choose", Listen: "listen", Pass: "pass"}
	if int(k) < len(names) && names[k] != "" {
		return names[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// String names the end the way messages do.
func (e End) String() string {
	names := [...]string{StillOpen: "open", EOF: "EOF", Reset: "reset"}
	if int(e) < len(names) {
		return names[e]
	}
	return fmt.Sprintf("End(%d)", uint8(e))
}

// String shows the input on one line; long data is cut short.
func (in Input) String() string {
	switch in.Kind {
	case Connect, Listen:
		return fmt.Sprintf("%s %d %s", in.Kind, in.Conn, in.Addr) + named(in.Name)
	case Send:
		return fmt.Sprintf("send %d %s", in.Conn, quote(in.Data))
	case Pass:
		if in.Most > 0 {
			return fmt.Sprintf("%s %d at most %v", in.Kind, in.Conn, in.Most)
		}
		return fmt.Sprintf("%s %d", in.Kind, in.Conn)
	default:
		return fmt.Sprintf("%s %d", in.Kind, in.Conn)
	}
}

// named shows the name of a connection, if it has one.
func named(name string) string {
	if name == "" {
		return ""
	}
	return " as " + strconv.Quote(name)
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

// quote shows up to 40 bytes, and says how many there are if that is not all.
func quote(data []byte) string {
	const shown = 40
	if len(data) <= shown {
		return strconv.Quote(string(data))
	}
	return fmt.Sprintf("%s... (%d bytes)", strconv.Quote(string(data[:shown])), len(data))
}

// normalise brings a reaction into the form in which equal ones are identical:
// one delivery for each connection that received something, and endings, in their order.
func normalise(r Reaction) Reaction {
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

// joined is one reaction after the other. Of a single one it shares the memory.
type joined struct {
	Reaction
	own bool // the memory
}

// add appends a reaction. Both must be normal, and the result is.
func (j *joined) add(next Reaction) {
	switch {
	case next.empty():
		return
	case j.empty():
		j.Reaction = next
		return
	case !j.own:
		j.Reaction, j.own = j.clone(), true
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

// minus is what remains of r after the reaction first; ok is false if r does not
// begin with first. Both must be normal.
func (r Reaction) minus(first Reaction) (remainder Reaction, ok bool) {
	if first.empty() {
		return r, true
	}
	if r.Refused != first.Refused || len(r.Opened) < len(first.Opened) || !slices.Equal(r.Opened[:len(first.Opened)], first.Opened) {
		return Reaction{}, false
	}
	remainder.Opened = r.Opened[len(first.Opened):]
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

func (r Reaction) empty() bool {
	return !r.Shows() && r.Time == (Time{})
}

// Shows reports whether the group has done anything that the SUT can notice.
func (r Reaction) Shows() bool {
	return r.Refused != 0 || len(r.Opened) > 0 || len(r.Deliveries) > 0 || len(r.Ended) > 0
}

func (r Reaction) equal(other Reaction) bool {
	return r.Refused == other.Refused && r.Time == other.Time && slices.Equal(r.Opened, other.Opened) && slices.Equal(r.Ended, other.Ended) && slices.EqualFunc(r.Deliveries, other.Deliveries,
		func(a, b Delivery) bool {
			return a.Conn == b.Conn && a.End == b.End && bytes.Equal(a.Data, b.Data)
		})
}

// clone copies the reaction into memory of its own.
func (r Reaction) clone() Reaction {
	r.Opened, r.Ended = slices.Clone(r.Opened), slices.Clone(r.Ended)
	r.Deliveries = slices.Clone(r.Deliveries)
	for i := range r.Deliveries {
		r.Deliveries[i].Data = bytes.Clone(r.Deliveries[i].Data)
	}
	return r
}

// size is the memory that a reaction holds besides itself.
func (r Reaction) size() int64 {
	size := int64(len(r.Deliveries)) * int64(unsafe.Sizeof(Delivery{}))
	size += int64(len(r.Opened))*int64(unsafe.Sizeof(int(0))) + int64(len(r.Ended))*int64(unsafe.Sizeof(Ending{}))
	for _, d := range r.Deliveries {
		size += int64(len(d.Data))
	}
	return size
}
