// Package wire tells in words what the bytes of network messages are: HTTP, SSH up to the point
// where it is encrypted, text, or bytes.
package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// A decoder tells in words what the bytes of one direction of a connection are. It is fed with
// the bytes in order, however they are cut, and answers with a line or more for each piece. It
// accepts any bytes and holds a bounded number of them.
//
// A clone goes on from the same state, and shares nothing with the original. The exchange is that
// of its own connection.
type decoder interface {
	feed(data []byte) []string
	clone(exchange *httpExchange) decoder
}

// maxConnections bounds the connections whose messages are decoded; those of later ones are only
// counted in bytes.
const maxConnections = 1000

// Decoders is the state of all connections of one execution. The key is the number of the
// connection. Messages must be given in the order in which they were sent, from one goroutine.
type Decoders map[int]*conversation

// conversation decodes both directions of one connection.
type conversation struct {
	toPeer, fromPeer decoder
	exchange         *httpExchange // of both directions
}

// newConversation takes either end for the client: the peer may be it. So each direction may turn
// out to hold requests or responses.
func newConversation() *conversation {
	exchange := &httpExchange{}
	direction := func() decoder { return &undecided{candidates: candidates(exchange)} }
	return &conversation{toPeer: direction(), fromPeer: direction(), exchange: exchange}
}

// candidates are the protocols that a direction of a connection may be in.
func candidates(exchange *httpExchange) []candidate {
	return []candidate{
		{matchesPrefix("SSH-"), func() decoder { return &sshStream{} }},
		{matchesPrefix("HTTP/1."), func() decoder { return &httpStream{exchange: exchange, response: true} }},
		{matchesRequestLine, func() decoder { return &httpStream{exchange: exchange} }},
	}
}

// Clone is a copy that goes on from the same state: another execution may.
func (d Decoders) Clone() Decoders {
	// Both directions of a connection must share the copy of its exchange.
	clone := make(Decoders, len(d))
	for conn, c := range d {
		exchange := &httpExchange{slices.Clone(c.exchange.head), c.exchange.upgraded}
		clone[conn] = &conversation{c.toPeer.clone(exchange), c.fromPeer.clone(exchange), exchange}
	}
	return clone
}

// Describe says what the bytes of a message are and what else happened. There is at least one line
// for a message that has data, is a datagram, or has an event. Lines hold no characters that a
// terminal acts on.
func (d Decoders) Describe(message report.Message) []string {
	var lines []string
	switch {
	case message.Datagram:
		lines = []string{datagram(message)}
	case len(message.Data) > 0:
		lines = d.of(message).feed(message.Data)
	}
	if message.Event != "" {
		lines = append(lines, words.Printable(message.Event))
	}
	return lines
}

// datagram says what a message of its own is.
func datagram(m report.Message) string {
	way := ""
	switch {
	case m.Address != "" && m.ToPeer:
		way = " to " + words.Printable(m.Address)
	case m.Address != "":
		way = " from " + words.Printable(m.Address)
	}
	return "message" + way + ": " + raw{}.line(m.Data)
}

// of is the decoder for a direction of a connection. It makes one for the first message, as long as
// there are fewer than maxConnections.
func (d Decoders) of(message report.Message) decoder {
	c := d[message.Conn]
	if c == nil {
		if len(d) >= maxConnections {
			return raw{}
		}
		c = newConversation()
		d[message.Conn] = c
	}
	if message.ToPeer {
		return c.toPeer
	}
	return c.fromPeer
}

// match says how far the beginning of a stream fits a protocol.
type match uint8

// How far a stream may fit.
const (
	no match = iota
	perhaps
	yes
)

// candidate is a protocol that a stream may turn out to be in.
type candidate struct {
	match func(start []byte) match
	start func() decoder
}

// undecided collects the first bytes of a stream until they show its protocol. That is at most
// maxStart bytes, so one that stays undecided costs little.
type undecided struct {
	candidates []candidate
	start      []byte
	decided    decoder
}

// maxStart is the number of bytes after which every matcher is certain.
const maxStart = 16

// feed shows bytes as they are until they tell the protocol, which then decodes the rest. A byte is
// shown once: either as it is, or decoded. Bytes that were shown before the protocol was known are
// fed to its decoder as well, since it needs them, but what it says of them is dropped.
func (u *undecided) feed(data []byte) []string {
	if u.decided != nil {
		return u.decided.feed(data)
	}
	start := append(u.start, data[:min(len(data), maxStart)]...)
	open := false
	for _, c := range u.candidates {
		switch c.match(start) {
		// The first candidate that is certain decides; no two of them begin in the same way.
		case yes:
			u.decided = c.start()
			u.decided.feed(u.start) // was shown as raw bytes when it came
			u.start = nil
			return u.decided.feed(data)
		case perhaps:
			open = true
		}
	}
	u.start = start
	if !open {
		u.decided, u.start = raw{}, nil
	}
	return raw{}.feed(data)
}

// clone implements decoder.
func (u *undecided) clone(exchange *httpExchange) decoder {
	c := &undecided{candidates: candidates(exchange), start: slices.Clone(u.start)}
	if u.decided != nil {
		c.decided = u.decided.clone(exchange)
	}
	return c
}

// matchesPrefix looks for a certain beginning. Perhaps means that the stream is too short to tell.
func matchesPrefix(prefix string) func([]byte) match {
	return func(start []byte) match {
		switch {
		case bytes.HasPrefix(start, []byte(prefix)):
			return yes
		case bytes.HasPrefix([]byte(prefix), start):
			return perhaps
		}
		return no
	}
}

// methods are the request methods of RFC 9110, section 9, and of RFC 5789.
var methods = [...]string{"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}

// matchesRequestLine looks for a method and a space: that is more than other text protocols begin
// with.
func matchesRequestLine(start []byte) match {
	best := no
	for _, method := range methods {
		best = max(best, matchesPrefix(method+" ")(start))
	}
	return best
}

// raw describes bytes of no known protocol: text as text, in rows that end where its lines do, and
// anything else by its first bytes.
type raw struct{}

// clone implements decoder: there is no state.
func (raw) clone(*httpExchange) decoder { return raw{} }

// Bounds of what is shown.
const (
	// maxShownBytes bounds how many bytes are shown of data that are no text.
	maxShownBytes = 24
	// maxTextRow bounds the bytes of text in a row, and maxTextRows the rows of one piece.
	maxTextRow  = 48
	maxTextRows = 8
)

// feed shows text in rows that end where its lines do. Only as much is looked at as can be shown.
// The last row says how many bytes there are in all.
func (raw) feed(data []byte) []string {
	if !isText(data[:min(len(data), maxTextRow*maxTextRows)]) {
		return []string{raw{}.line(data)}
	}
	var rows []string
	rest := data
	for len(rest) > 0 && len(rows) < maxTextRows {
		n := linesIn(rest)
		row := quoted(rest[:n], maxTextRow)
		rows, rest = append(rows, row), rest[n:]
	}
	last := &rows[len(rows)-1]
	if len(rest) > 0 && !strings.HasSuffix(*last, "...") {
		*last += "..."
	}
	*last += ", " + textutil.CountOf(len(data), "byte")
	return rows
}

// linesIn is the length of as many lines of a text as have room in a row, and of at least one.
// Lines are kept together, since a protocol of lines reads best that way.
func linesIn(text []byte) int {
	if len(text) <= maxTextRow {
		return len(text)
	}
	if n := bytes.LastIndexByte(text[:maxTextRow], '\n') + 1; n > 0 {
		return n
	}
	if n := bytes.IndexByte(text, '\n') + 1; n > 0 {
		return n
	}
	return len(text)
}

// line describes data in one row.
func (raw) line(data []byte) string {
	size := ", " + textutil.CountOf(len(data), "byte")
	if isText(data[:min(len(data), maxTextRow)]) {
		return quoted(data, maxTextRow) + size
	}
	if len(data) > maxShownBytes {
		return fmt.Sprintf("% x...", data[:maxShownBytes]) + size
	}
	return fmt.Sprintf("% x", data) + size
}

// quoted quotes a text. Of a longer one it shows the beginning, up to the end of a character. The
// cut may be up to utf8.UTFMax bytes earlier, so that no character is taken apart.
func quoted(text []byte, most int) string {
	if len(text) <= most {
		return strconv.Quote(string(text))
	}
	n := most
	for n > most-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return strconv.Quote(string(text[:n])) + "..."
}

// isText says whether data reads as text; a character cut at its end does not matter.
func isText(data []byte) bool {
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && size == 1:
			return !utf8.FullRune(data)
		case r < ' ' && !strings.ContainsRune("\t\r\n", r), r == 0x7f:
			return false
		}
		data = data[size:]
	}
	return true
}
