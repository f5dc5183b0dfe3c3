package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// httpExchange is what the two directions of an HTTP/1.x connection have to know of each other. A
// response to HEAD has no body, whatever its header says (RFC 9110, section 9.3.2). So the decoder
// of the responses must know which of the requests that wait for their response had that method.
// Responses come in the order of the requests (RFC 9112, section 9.3), so a queue is enough.
type httpExchange struct {
	head []bool
	// upgraded says that a response had the status 101: what follows in both directions is of
	// another protocol, such as WebSocket (RFC 9110, section 15.2.2).
	upgraded bool
}

// maxPipelined bounds the requests that may wait for a response. More are taken for other methods.
const maxPipelined = 1000

// request notes a request that waits for its response.
func (e *httpExchange) request(head bool) {
	if len(e.head) < maxPipelined {
		e.head = append(e.head, head)
	}
}

// response says whether the request that is answered next had the method HEAD.
func (e *httpExchange) response() (head bool) {
	if len(e.head) > 0 {
		head, e.head = e.head[0], e.head[1:]
	}
	return head
}

// httpStream decodes one direction of an HTTP/1.x connection: the first line of each message and
// the sizes of head and body (RFC 9112). It is a state machine that is fed with pieces of any size.
// It keeps the current line and the sizes, and no bodies.
type httpStream struct {
	// exchange is shared with the decoder of the other direction. response says which of the two
	// directions this is.
	exchange *httpExchange
	response bool

	// All of what follows is of the current message.
	phase     httpPhase
	line      []byte // the current line so far, at most maxHTTPLine bytes
	first     string // the first line of the message
	headBytes int
	length    int64 // Content-Length; -1: none
	chunked   bool
	body      int64 // bytes of the body or of the chunk that are still to come
}

// httpPhase is what part of a message comes next.
type httpPhase uint8

// The phases, in the order of a message.
const (
	firstLine httpPhase = iota
	headerLines
	sizedBody
	bodyToTheEnd
	chunkSize
	chunkData
	trailer
	notHTTP
)

// Bounds, so that any bytes can be fed.
const (
	// maxHTTPLine bounds how much of a line is looked at.
	maxHTTPLine = 1024
	// maxHead bounds the head of a message; a larger one is no HTTP.
	maxHead = 1 << 20
)

// feed describes each part of a message that ends in the data, and parts of a body as they come.
// There is a line for each piece, so a piece in which nothing ends is only counted.
func (h *httpStream) feed(data []byte) []string {
	var lines []string
	size := len(data)
	for len(data) > 0 {
		var line string
		if h.phase == firstLine && h.exchange.upgraded {
			h.phase = notHTTP
		}
		switch h.phase {
		case sizedBody, chunkData:
			line, data = h.feedBody(data)
		case bodyToTheEnd:
			line, data = "body, "+textutil.CountOf(len(data), "byte"), nil
		case notHTTP:
			line, data = raw{}.line(data), nil
		default:
			whole, earlier := data, len(h.line)
			if line, data = h.feedLine(data); h.phase == notHTTP && line == "" {
				// With what earlier pieces have had of the line: it is still in the array.
				line, data = raw{}.line(slices.Concat(h.line[:earlier], whole)), nil
			}
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return []string{"part of a message, " + textutil.CountOf(size, "byte")}
	}
	return lines
}

// clone implements decoder.
func (h *httpStream) clone(exchange *httpExchange) decoder {
	c := *h
	c.exchange, c.line = exchange, slices.Clone(h.line)
	return &c
}

// feedLine takes data up to the end of a line, and acts on the line when it is complete. A line is
// kept up to maxHTTPLine bytes: a longer one is cut in what is shown, and counts in full. A head
// that does not end within maxHead bytes shows that this is no HTTP.
func (h *httpStream) feedLine(data []byte) (line string, rest []byte) {
	part, rest, complete := bytes.Cut(data, []byte("\n"))
	h.line = append(h.line, part[:min(len(part), maxHTTPLine-len(h.line))]...)
	h.headBytes += len(data) - len(rest)
	if h.headBytes > maxHead {
		h.phase = notHTTP
		return "a head of more than " + textutil.CountOf(maxHead, "byte"), rest
	}
	if !complete {
		return "", nil
	}
	text := strings.TrimSuffix(string(h.line), "\r")
	h.line = h.line[:0]
	return h.endLine(text), rest
}

// endLine acts on a complete line, according to where in the message it is.
func (h *httpStream) endLine(text string) string {
	switch h.phase {
	case firstLine:
		return h.endFirstLine(text)
	case headerLines:
		if text != "" {
			h.headerLine(text)
			return ""
		}
		return h.endHead()
	case chunkSize:
		return h.endChunkSize(text)
	default: // trailer
		if text == "" {
			h.next()
		}
		return ""
	}
}

// isRequestLine reports whether a line is a method, a target and a version with one blank between
// each (RFC 9112, section 3). Text protocols have commands such as GET, too.
func isRequestLine(text string) bool {
	parts := strings.Split(text, " ")
	return len(parts) == 3 && parts[0] != "" && parts[1] != "" && strings.HasPrefix(parts[2], "HTTP/1.")
}

// endFirstLine acts on a request line or a status line. Anything else shows that this is no HTTP:
// there is no line for it then, and feed shows the bytes as they are.
func (h *httpStream) endFirstLine(text string) string {
	if text == "" { // empty lines between messages are allowed: RFC 9112, section 2.2
		h.headBytes = 0
		return ""
	}
	isHTTP := strings.HasPrefix(text, "HTTP/1.")
	if !h.response {
		isHTTP = isRequestLine(text)
	}
	if !isHTTP {
		h.phase = notHTTP
		return ""
	}
	h.phase, h.first, h.length, h.chunked = headerLines, text, -1, false
	return ""
}

// headerLine takes from a header what says how long the body is. A length that is no number is
// ignored: the body then ends with the connection. Chunked counts only as the last of the encodings
// (RFC 9112, section 6.1).
func (h *httpStream) headerLine(text string) {
	name, value, _ := strings.Cut(text, ":")
	value = strings.TrimSpace(value)
	switch strings.ToLower(name) {
	case "content-length":
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && n >= 0 {
			h.length = n
		}
	case "transfer-encoding":
		h.chunked = strings.HasSuffix(strings.ToLower(value), "chunked")
	}
}

// endHead decides how the body is delimited: RFC 9112, section 6.3. It returns the line that
// describes the head.
func (h *httpStream) endHead() string {
	line := fmt.Sprintf("%s (head of %s)", words.Printable(h.first), textutil.CountOf(h.headBytes, "byte"))
	if !h.response {
		h.exchange.request(strings.HasPrefix(h.first, "HEAD "))
	}
	// A request without a length has no body; a response without one goes on to the end.
	switch {
	case h.response && strings.HasPrefix(h.status(), "101"):
		h.exchange.upgraded, h.phase = true, notHTTP
	case h.response && h.isBodiless(), !h.response && !h.chunked && h.length <= 0:
		h.next()
	case h.chunked:
		h.phase = chunkSize
	case h.length == 0:
		h.next()
	case h.length > 0:
		h.phase, h.body = sizedBody, h.length
	default:
		h.phase = bodyToTheEnd
	}
	return line
}

// status is that of a response, and what the server says of it.
func (h *httpStream) status() string {
	_, status, _ := strings.Cut(h.first, " ")
	return status
}

// isBodiless says whether a response with this status, or to this request, has no body. It takes
// the request out of the queue, unless the status is an interim one: 100 to 199 (RFC 9110, section
// 15.2).
func (h *httpStream) isBodiless() bool {
	status := h.status()
	if strings.HasPrefix(status, "1") {
		return true // the final response to the same request follows
	}
	return h.exchange.response() || strings.HasPrefix(status, "204") || strings.HasPrefix(status, "304")
}

// endChunkSize acts on the line before a chunk. The last chunk has no bytes. Extensions after a
// semicolon are ignored. The bound on the size keeps the sums from overflow.
func (h *httpStream) endChunkSize(text string) string {
	digits, _, _ := strings.Cut(text, ";")
	size, err := strconv.ParseInt(strings.TrimSpace(digits), 16, 64)
	switch {
	case err != nil || size < 0 || size > 1<<62:
		h.phase = notHTTP
		return "no chunk: " + raw{}.line([]byte(text))
	case size == 0:
		h.phase = trailer
		return "end of the chunks"
	}
	h.phase, h.body, h.headBytes = chunkData, size+2, 0 // the line end belongs to the chunk
	return ""
}

// feedBody takes data that belong to a body or a chunk of known size, and returns what follows it.
// The line says how much is still to come, where it is known.
func (h *httpStream) feedBody(data []byte) (line string, rest []byte) {
	n := int(min(int64(len(data)), h.body))
	h.body -= int64(n)
	name := "body"
	if h.phase == chunkData {
		name = "chunk"
	}
	line = name + ", " + textutil.CountOf(n, "byte")
	if h.body > 0 {
		return line + fmt.Sprintf(", %d to come", h.body), nil
	}
	if h.phase == chunkData {
		h.phase = chunkSize
	} else {
		h.next()
	}
	return line, data[n:]
}

// next gets ready for the next message. The line buffer is empty already: messages begin with a new
// line.
func (h *httpStream) next() {
	h.phase, h.first, h.headBytes = firstLine, "", 0
}
