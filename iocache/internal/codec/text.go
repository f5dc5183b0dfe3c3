package codec

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/internal/model"
)

// AppendText appends a record as a line of text, without its end. ParseText reads it; nothing is
// lost on the way. It is the place, the input, and the reaction, all bytes as in Go:
//
//	0 connect 0 "127.0.0.1:22" => 0:"SSH-2.0-dropbear\r\n"
//	1 send 0 "QUIT\n" => 0:"bye"EOF
//	0 connect 0 "127.0.0.1:23" => refused(errno 111)
//	2 close 0 => nothing
//	0 listen 0 "0.0.0.0:80" => opened(at 0) 1:"GET / HTTP/1.0\r\n\r\n"
//	4 close 1 => ended(peer 0, status 0)
//	0 connect 0 "127.0.0.1:22" as "main 1" => nothing
//	1 pass 0 10s => 0:"late" time(20ms idle, peer 0 in 30s)
func (e Entry) AppendText(b []byte) []byte {
	b = fmt.Appendf(b, "%d %v %d", e.At, e.Input.Kind, e.Input.Conn)
	switch e.Input.Kind {
	case model.Connect, model.Listen:
		b = strconv.AppendQuoteToASCII(append(b, ' '), e.Input.Addr)
		if e.Input.Name != "" {
			b = strconv.AppendQuoteToASCII(append(b, " as "...), e.Input.Name)
		}
	case model.Send:
		b = strconv.AppendQuoteToASCII(append(b, ' '), string(e.Input.Data))
	case model.Pass:
		if e.Input.Most > 0 {
			b = append(append(b, ' '), e.Input.Most.String()...)
		}
	}
	b = append(b, " =>"...)
	if e.Reaction.Refused != 0 {
		b = fmt.Appendf(b, " refused(errno %d)", e.Reaction.Refused)
	}
	for _, l := range e.Reaction.Opened {
		b = fmt.Appendf(b, " opened(at %d)", l)
	}
	for _, d := range e.Reaction.Deliveries {
		b = fmt.Appendf(b, " %d:", d.Conn)
		b = strconv.AppendQuoteToASCII(b, string(d.Data))
		if d.End != model.StillOpen {
			b = append(b, d.End.String()...)
		}
	}
	for _, x := range e.Reaction.Ended {
		b = fmt.Appendf(b, " ended(peer %d, status %d)", x.Peer, x.Status)
	}
	if t := e.Reaction.Time; t != (model.Time{}) {
		b = appendTimeText(b, t)
	}
	if e.Reaction.Empty() {
		b = append(b, " nothing"...)
	}
	return b
}

// appendTimeText appends how far time has gone with a Pass, in parentheses.
func appendTimeText(b []byte, t model.Time) []byte {
	b = append(append(b, " time("...), t.Passed.String()...)
	if t.Idle {
		b = append(b, " idle"...)
	}
	if t.Tie {
		b = append(b, " tie"...)
	}
	if t.Due > 0 || t.Peer > 0 {
		b = fmt.Appendf(b, ", peer %d in %v", t.Peer, t.Due)
	}
	return append(b, ')')
}

// ParseText reads a line that AppendText has written.
func ParseText(line string) (Entry, error) {
	p := &textParser{rest: line}
	e := p.entry()
	if p.wrong || p.rest != "" {
		return Entry{}, fmt.Errorf("iocache: %.80q is not the text of a record: it cannot be read from "+
			"its byte %d on", line, len(line)-len(p.rest))
	}
	return e, nil
}

// textParser reads a line from the left. After the first thing that is wrong it stays there, and
// all that it then reads is zero, so callers need not ask after each step.
type textParser struct {
	rest  string
	wrong bool
}

// take reads a given text, if it is there.
func (p *textParser) take(text string) bool {
	rest, ok := strings.CutPrefix(p.rest, text)
	if ok && !p.wrong {
		p.rest = rest
		return true
	}
	return false
}

// expect reads a given text, which has to be there.
func (p *textParser) expect(text string) {
	if !p.take(text) {
		p.wrong = true
	}
}

// number reads a number without a sign.
func (p *textParser) number() int {
	digits := 0
	for digits < len(p.rest) && '0' <= p.rest[digits] && p.rest[digits] <= '9' {
		digits++
	}
	n, err := strconv.ParseInt(p.rest[:digits], 10, 32)
	if err != nil || p.wrong {
		p.wrong = true
		return 0
	}
	p.rest = p.rest[digits:]
	return int(n)
}

// quoted reads a string in quotation marks. Nil is the empty one, as in entries.
func (p *textParser) quoted() []byte {
	quoted, err := strconv.QuotedPrefix(p.rest)
	if err != nil || p.wrong || quoted[0] != '"' {
		p.wrong = true
		return nil
	}
	p.rest = p.rest[len(quoted):]
	text, _ := strconv.Unquote(quoted)
	if text == "" {
		return nil
	}
	return []byte(text)
}

// entry reads a whole line.
func (p *textParser) entry() (e Entry) {
	e.At = NodeID(p.number())
	for kind := model.Connect; kind < model.Kinds; kind++ {
		if p.take(" " + kind.String() + " ") {
			e.Input.Kind = kind
			break // else a second one could follow it
		}
	}
	e.Input.Conn = p.number()
	switch e.Input.Kind {
	case model.Connect, model.Listen:
		p.expect(" ")
		e.Input.Addr = string(p.quoted())
		if p.take(" as ") {
			e.Input.Name = string(p.quoted())
			p.wrong = p.wrong || e.Input.Name == ""
		}
	case model.Send:
		p.expect(" ")
		e.Input.Data = p.quoted()
	case model.Pass:
		if !strings.HasPrefix(p.rest, " =>") {
			p.expect(" ")
			e.Input.Most = p.duration()
			p.wrong = p.wrong || e.Input.Most == 0
		}
	}
	p.expect(" =>")
	if p.take(" nothing") {
		return e
	}
	if p.take(" refused(errno ") {
		e.Reaction.Refused = p.number()
		p.expect(")")
	}
	for p.take(" opened(at ") {
		e.Reaction.Opened = append(e.Reaction.Opened, p.number())
		p.expect(")")
	}
	e.Reaction.Deliveries, e.Reaction.Ended = p.deliveries(), p.endings()
	if p.take(" time(") {
		e.Reaction.Time = p.time()
		p.wrong = p.wrong || e.Input.Kind != model.Pass
	}
	p.wrong = p.wrong || e.Reaction.Empty() || e.Input.Kind == 0
	return e
}

// time reads what appendTimeText has written, after its first parenthesis.
func (p *textParser) time() (t model.Time) {
	t.Passed = p.duration()
	t.Idle, t.Tie = p.take(" idle"), p.take(" tie")
	if p.take(", peer ") {
		t.Peer = p.number()
		p.expect(" in ")
		t.Due = p.duration()
	}
	p.expect(")")
	return t
}

// duration reads one of at least 0 as it is written by its String.
func (p *textParser) duration() time.Duration {
	end := strings.IndexAny(p.rest+" ", " ),")
	d, err := time.ParseDuration(p.rest[:end])
	if err != nil || d < 0 || d.String() != p.rest[:end] || p.wrong {
		p.wrong = true
		return 0
	}
	p.rest = p.rest[end:]
	return d
}

// deliveries reads what connections received, in the order of the line.
func (p *textParser) deliveries() (all []model.Delivery) {
	for len(p.rest) > 1 && '0' <= p.rest[1] && p.rest[1] <= '9' && p.take(" ") {
		d := model.Delivery{Conn: p.number()}
		p.expect(":")
		d.Data = p.quoted()
		for end := model.EOF; end <= model.Reset; end++ {
			if p.take(end.String()) {
				d.End = end
				break
			}
		}
		all = append(all, d)
	}
	return all
}

// endings reads which peers have ended.
func (p *textParser) endings() (all []model.Ending) {
	for p.take(" ended(peer ") {
		x := model.Ending{Peer: p.number()}
		p.expect(", status ")
		x.Status = p.number()
		p.expect(")")
		all = append(all, x)
	}
	return all
}
