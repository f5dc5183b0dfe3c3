package iocache

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// LimitError says that a Record was refused for lack of room.
type LimitError struct {
	Limits Limits
	Nodes  int   // places held
	Bytes  int64 // memory held
	// Store is why nothing can be put into the Store, if that is why there is no room; nil: places
	// are what is full, or it works, or there is none.
	Store error
}

// Unwrap is why there is no room in the Store.
func (e *LimitError) Unwrap() error { return e.Store }

// Error says what is full and what to do.
func (e *LimitError) Error() string {
	if e.Store != nil {
		return fmt.Sprintf("the I/O cache is full: it holds %d bytes of at most %d, and cannot put "+
			"answers into its file: %v; make room in the directory for temporary files, or name another "+
			"one by TMPDIR", e.Bytes, e.Limits.Bytes, e.Store)
	}
	return fmt.Sprintf("the I/O cache is full: it holds %d places of at most %d and %d bytes of at most %d; "+
		"raise its limits, or bound the search by fewer executions or a smaller depth",
		e.Nodes, e.Limits.Nodes, e.Bytes, e.Limits.Bytes)
}

// Inconsistency says that the group has given two answers that cannot both come
// from peers whose answers depend on nothing but the bytes they receive.
type Inconsistency struct {
	Path    []Step // what came before, from the root on
	Earlier Input  // the request whose answer is in the cache
	Now     Input  // the request that the peers were given now

	// Cut says that the requests were cut into writes differently: one of Earlier
	// and Now is the beginning of the other, and their answers are not; or Earlier
	// was the end of a longer write. If it is false they are the same request.
	Cut bool

	// Reordered says that the requests before it were the same on its connection, and in another
	// order to those on other connections.
	Reordered bool

	Want Reaction // the answer in the cache
	Got  Reaction // the answer now
}

// Error shows both answers side by side, what led to them, and what would help.
// It is some ten to fifty lines long.
func (e *Inconsistency) Error() string {
	title := "the peers have answered the same request in two ways"
	help := "  The answer depends on something besides the requests: the time, random numbers, threads of\n" +
		"  a peer. What helps, in the configuration:\n" +
		"    strategy: after-io        a checkpoint after each input that was answered\n" +
		"    strategy: after-nd        the same, where a peer has read the time or random numbers\n" +
		"    choices: 1                for the peer: these values are chosen, and the same every time\n" +
		"    mask: [{pattern: \"...\"}]  for a field that does not matter, such as \"Date: [^\\r\\n]*\""
	if e.Reordered {
		help = "  The requests before it on its connection were the same; those on other connections came " +
			"in another\n" +
			"  order. Scope connection assumes that this makes no difference. Use scope group; or, for a\n" +
			"  field that does not matter, such as a Date header, a rule: mask: [{pattern: \"Date: " +
			"[^\\r\\n]*\"}]"
	} else if len(e.Path) > 0 && e.Path[0].Input.Name != "" {
		help += "\n  Or the connections depend on each other, though scope connection takes it that they " +
			"do not:\n" +
			"  use scope group."
	}
	if e.Cut {
		title = "the peers' answer depends on how a request is cut into writes"
		help = "  The shorter answer should be the beginning of the longer one. Either a peer looks at " +
			"the\n" +
			"  size of what it reads, or its answers are random. The strategy after-io or always helps " +
			"only\n" +
			"  if the request is always written in one piece; else make the peer's answers repeatable."
	}
	var b strings.Builder
	b.WriteString(title + "\n")
	fmt.Fprintf(&b, "  request now:     %v\n", e.Now)
	if !bytes.Equal(e.Earlier.Data, e.Now.Data) {
		fmt.Fprintf(&b, "  request earlier: %v\n", e.Earlier)
	} else if e.Cut {
		b.WriteString("  request earlier: the same, as the end of a longer one\n")
	}
	e.writePath(&b)
	e.writeAnswers(&b)
	b.WriteString(help)
	return b.String()
}

// writePath shows the last few steps before the request.
func (e *Inconsistency) writePath(b *strings.Builder) {
	const shown = 5
	if len(e.Path) == 0 {
		b.WriteString("  it was the first input\n")
		return
	}
	fmt.Fprintf(b, "  inputs before it: %d\n", len(e.Path))
	skipped := max(0, len(e.Path)-shown)
	if skipped > 0 {
		fmt.Fprintf(b, "    ... %d more\n", skipped)
	}
	for _, step := range e.Path[skipped:] {
		fmt.Fprintf(b, "    %v => %v\n", step.Input, step.Reaction)
	}
}

// writeAnswers shows what differs, at most three connections of it.
func (e *Inconsistency) writeAnswers(b *strings.Builder) {
	if e.Want.Refused != e.Got.Refused {
		fmt.Fprintf(b, "  errno of the connect earlier: %d, now: %d (0: it "+
			"succeeded)\n", e.Want.Refused, e.Got.Refused)
	}
	if !slices.Equal(e.Want.Opened, e.Got.Opened) {
		fmt.Fprintf(b, "  connections that the peers opened earlier: %d, now: %d (numbers of the "+
			"listeners: %v, %v)\n",
			len(e.Want.Opened), len(e.Got.Opened), e.Want.Opened, e.Got.Opened)
	}
	if !slices.Equal(e.Want.Ended, e.Got.Ended) {
		fmt.Fprintf(b, "  peers that ended earlier: %s, now: "+
			"%s\n", Reaction{Ended: e.Want.Ended}, Reaction{Ended: e.Got.Ended})
	}
	const shown = 3
	differing := 0
	for _, pair := range e.pairs() {
		earlier, now := pair[0], pair[1]
		if bytes.Equal(earlier.Data, now.Data) && earlier.End == now.End {
			continue
		}
		if differing++; differing <= shown {
			writePair(b, earlier, now)
		}
	}
	if differing > shown {
		fmt.Fprintf(b, "  ... %d more connections differ\n", differing-shown)
	}
}

// pairs matches the deliveries of both answers, ordered by connection.
func (e *Inconsistency) pairs() [][2]Delivery {
	var pairs [][2]Delivery
	want, got := e.Want.Deliveries, e.Got.Deliveries
	for len(want) > 0 || len(got) > 0 {
		var pair [2]Delivery
		takeWant := len(got) == 0 || len(want) > 0 && want[0].Conn <= got[0].Conn
		takeGot := len(want) == 0 || len(got) > 0 && got[0].Conn <= want[0].Conn
		if takeWant {
			pair[0], pair[1].Conn = want[0], want[0].Conn
			want = want[1:]
		}
		if takeGot {
			pair[1], pair[0].Conn = got[0], got[0].Conn
			got = got[1:]
		}
		pairs = append(pairs, pair)
	}
	return pairs
}

// writePair shows two streams side by side from shortly before the first
// difference, eight bytes a line.
func writePair(b *strings.Builder, earlier, now Delivery) {
	const width, before, lines = 8, 1, 8
	at := commonPrefix(earlier.Data, now.Data)
	longest := max(len(earlier.Data), len(now.Data))
	fmt.Fprintf(b, "  connection %d, first difference at offset %d of %d (earlier) and %d bytes (now)\n",
		now.Conn, at, len(earlier.Data), len(now.Data))
	fmt.Fprintf(b, "    %-8s  %-*s   %s\n", "offset", 4*width+2, "earlier", "now")
	from := max(0, at/width-before) * width
	to := min(longest, from+lines*width)
	for offset := from; offset < to; offset += width {
		mark := "   "
		if at < longest && at/width == offset/width {
			mark = " ! "
		}
		line := fmt.Sprintf("    %08x  %s%s%s", offset, hexLine(earlier.Data, offset, width), mark,
			hexLine(now.Data, offset, width))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if to < longest {
		fmt.Fprintf(b, "    ... %d more bytes\n", longest-to)
	}
	fmt.Fprintf(b, "    %-8s  %-*s   %v\n", "end", 4*width+2, earlier.End, now.End)
}

// hexLine shows width bytes at offset, in hexadecimal and as text.
func hexLine(data []byte, offset, width int) string {
	data = data[min(offset, len(data)):min(offset+width, len(data))]
	var text strings.Builder
	for _, c := range data {
		if c < ' ' || c > '~' {
			c = '.'
		}
		text.WriteByte(c)
	}
	return fmt.Sprintf("%-*s %-*s", 3*width, fmt.Sprintf("% x", data), width+1, text.String())
}
