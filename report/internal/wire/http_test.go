package wire

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/reporttest"
)

// TestHTTPBodies: where a body ends follows from the status, the method of the request, and the
// headers, in this order (RFC 9112, section 6.3). Without a body, what comes next begins a message.
func TestHTTPBodies(t *testing.T) {
	const get, head = "GET / HTTP/1.1\r\n\r\n", "HEAD / HTTP/1.1\r\n\r\n"
	const none, whole, toTheEnd = "part of a message, 2 bytes", "body, 2 bytes", "body, 2 bytes; body, 1 byte"
	const length, chunked = "Content-Length: 2", "Transfer-Encoding: chunked"
	for name, test := range map[string]struct{ request, response, want string }{
		"none with 204":         {get, "204 No Content\r\n" + length, none},
		"none with 304":         {get, "304 Not Modified\r\n" + length, none},
		"none with 100":         {get, "100 Continue\r\n" + length, none},
		"none for HEAD":         {head, "200 OK\r\n" + length, none},
		"a length of 0":         {get, "200 OK\r\nContent-Length: 0", none},
		"a length":              {get, "200 OK\r\ncontent-LENGTH:  2 ", whole},
		"chunked counts more":   {get, "200 OK\r\n" + length + "\r\n" + chunked, none},
		"chunked is the last":   {get, "200 OK\r\nTransfer-Encoding: gzip, Chunked", none},
		"chunked is not last":   {get, "200 OK\r\n" + chunked + ", gzip", toTheEnd},
		"a length that is none": {get, "200 OK\r\nContent-Length: -2", toTheEnd},
		"no length":             {get, "200 OK\r\nServer: x", toTheEnd},
		"nobody has asked":      {"", "200 OK\r\n" + length, whole},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decoders{}
			if test.request != "" {
				d.Describe(reporttest.ToPeer(test.request))
			}
			d.Describe(reporttest.FromPeer("HTTP/1.1 " + test.response + "\r\n\r\n"))
			got := d.Describe(reporttest.FromPeer("ok"))
			if test.want == toTheEnd {
				got = append(got, d.Describe(reporttest.FromPeer("x"))...)
			}
			if got := strings.Join(got, "; "); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
			next := "HTTP/1.1 500 Oops\r\n\r\n"
			if lines := d.Describe(reporttest.FromPeer(next)); test.want == whole &&
				!strings.HasPrefix(lines[0], "HTTP/1.1 500 Oops (head") {
				t.Errorf("the next message is %q", lines)
			}
		})
	}
}

// TestUpgrade: after the status 101 both directions are of another protocol, and are shown as they
// are. Before, they are not.
func TestUpgrade(t *testing.T) {
	frame := "\x81\x05hello"
	testDescriptions(t, []description{
		{"WebSocket", []report.Message{
			reporttest.ToPeer("GET /chat HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"),
			reporttest.FromPeer("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n" + frame),
			reporttest.ToPeer("\x81\x85\x01\x02"), reporttest.FromPeer(frame),
		}, []string{
			"-> GET /chat HTTP/1.1 (head of 42 bytes)",
			"<- HTTP/1.1 101 Switching Protocols (head of 56 bytes)", "<- 81 05 68 65 6c 6c 6f, 7 bytes",
			"-> 81 85 01 02, 4 bytes", "<- 81 05 68 65 6c 6c 6f, 7 bytes",
		}},
		{"refused", []report.Message{
			reporttest.ToPeer("GET /chat HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"),
			reporttest.FromPeer("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
			reporttest.ToPeer("GET / HTTP/1.1\r\n\r\n"),
		}, []string{
			"-> GET /chat HTTP/1.1 (head of 42 bytes)", "<- HTTP/1.1 400 Bad Request (head of 47 bytes)",
			"-> GET / HTTP/1.1 (head of 18 bytes)",
		}},
	})
}

// TestEmptyLinesBetweenMessages: they belong to no message (RFC 9112, section 2.2).
func TestEmptyLinesBetweenMessages(t *testing.T) {
	testDescriptions(t, []description{
		{"before the next request", []report.Message{
			reporttest.ToPeer("GET /a HTTP/1.1\r\n\r\n"), reporttest.ToPeer("\r\n\nGET /b HTTP/1.1\r\n\r\n"),
		}, []string{"-> GET /a HTTP/1.1 (head of 19 bytes)", "-> GET /b HTTP/1.1 (head of 19 bytes)"}},
	})
}

// TestLongLines: the first line of a message is shown up to a bound, and counted in full.
func TestLongLines(t *testing.T) {
	path := strings.Repeat("x", 3*maxHTTPLine)
	d := Decoders{}
	lines := d.Describe(reporttest.ToPeer("GET /" + path + " HTTP/1.1\r\n\r\n"))
	// Beyond the bound it does not show that the line is one of HTTP.
	if len(lines) != 1 || !strings.HasPrefix(lines[0], `"GET /xxx`) {
		t.Errorf("%.60q", lines)
	}
	d = Decoders{}
	lines = d.Describe(reporttest.FromPeer("HTTP/1.1 200 " + path + "\r\nContent-Length: 0\r\n\r\n"))
	if want := fmt.Sprintf("(head of %s bytes)", "3,108"); len(lines) != 1 ||
		!strings.HasPrefix(lines[0], "HTTP/1.1 200 xxx") || !strings.HasSuffix(lines[0], want) ||
		len(lines[0]) > maxHTTPLine+len(want)+1 {
		t.Errorf("%d lines, the first of %d bytes: %.40q", len(lines), len(lines[0]), lines[0])
	}
}

// exchange is a request with its response, and what has to be said of them.
type exchange struct {
	request, response string
	told              []string
}

// drawExchange draws one in which everything ends before the next one begins.
func drawExchange(t *rapid.T) exchange {
	method := rapid.SampledFrom([]string{"GET", "HEAD", "POST", "DELETE"}).Draw(t, "method")
	status := rapid.SampledFrom([]string{"200 OK", "204 No Content", "304 Not Modified", "500 Oops"}).
		Draw(t, "status")
	body := strings.Repeat("HTTP/1.1 200 OK\r\n\r\n", rapid.IntRange(0, 3).Draw(t, "body"))
	e := exchange{request: method + " / HTTP/1.1\r\n", response: "HTTP/1.1 " + status + "\r\n"}
	e.told = []string{"-> " + method + " / HTTP/1.1", "<- HTTP/1.1 " + status}
	if method == "POST" {
		e.request += "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
	} else {
		e.request += "\r\n"
	}
	bodiless := method == "HEAD" || status[0:3] == "204" || status[0:3] == "304"
	switch {
	case bodiless:
		e.response += "Content-Length: 99\r\n\r\n"
	case rapid.Bool().Draw(t, "chunked"):
		e.response += "Transfer-Encoding: chunked\r\n\r\n"
		for rest := body; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "chunk")
			e.response += fmt.Sprintf("%x;extension\r\n%s\r\n", n, rest[:n])
			rest = rest[n:]
		}
		e.response += "0\r\nTrailer: HTTP/1.1\r\n\r\n"
	default:
		e.response += "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
	}
	return e
}

// TestExchangesTwin: however the two directions of a connection are cut, the first lines of all
// messages are found, and nothing else is taken for one. The twin knows what it has put together.
func TestExchangesTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Decoders{}
		var want, got []string
		for range rapid.IntRange(1, 4).Draw(t, "exchanges") {
			e := drawExchange(t)
			want = append(want, e.told...)
			for _, part := range []report.Message{reporttest.ToPeer(e.request),
				reporttest.FromPeer(e.response)} {
				for _, piece := range cut(t, string(part.Data)) {
					piece.ToPeer = part.ToPeer
					got = append(got, headsOf(d.Describe(piece), piece.ToPeer)...)
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// headsOf are the first lines of the messages that lines tell of.
func headsOf(lines []string, toPeer bool) (heads []string) {
	for _, line := range lines {
		if first, _, ok := strings.Cut(line, " (head of "); ok {
			arrow := "<- "
			if toPeer {
				arrow = "-> "
			}
			heads = append(heads, arrow+first)
		}
	}
	return heads
}

// TestPipelineIsBounded: requests without responses take a bounded amount of memory, and beyond
// the bound a response to HEAD is taken for one with a body.
func TestPipelineIsBounded(t *testing.T) {
	e := &httpExchange{}
	for range 2 * maxPipelined {
		e.request(true)
	}
	heads := 0
	for range 2 * maxPipelined {
		if e.response() {
			heads++
		}
	}
	if heads != maxPipelined || len(e.head) != 0 {
		t.Errorf("%d of %d requests are known, %d are left", heads, 2*maxPipelined, len(e.head))
	}
}
