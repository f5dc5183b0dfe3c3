package wire

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/reporttest"
	"github.com/tandem-mc/tandem/report/internal/words"
	"golang.org/x/crypto/ssh"
	"pgregory.net/rapid"
)

// describeAll feeds pieces in one direction of a fresh connection.
func describeAll(pieces []report.Message) []string {
	streams := Decoders{}
	var lines []string
	for _, piece := range pieces {
		for _, line := range streams.Describe(piece) {
			direction := "<- "
			if piece.ToPeer {
				direction = "-> "
			}
			lines = append(lines, direction+line)
		}
	}
	return lines
}

func TestDescribeUnknownProtocols(t *testing.T) {
	testDescriptions(t, []description{
		{"text", []report.Message{reporttest.ToPeer("3\n"), reporttest.FromPeer("d\n")},
			[]string{`-> "3\n", 2 bytes`, `<- "d\n", 2 bytes`}},
		{"binary", []report.Message{reporttest.ToPeer("\x00\x01")}, []string{"-> 00 01, 2 bytes"}},
		{"one byte", []report.Message{reporttest.ToPeer("x")}, []string{`-> "x", 1 byte`}},
		{"long text", []report.Message{reporttest.ToPeer(strings.Repeat("x", 70))},
			[]string{`-> "` + strings.Repeat("x", 48) + `"..., 70 bytes`}},
		{"cut character", []report.Message{reporttest.ToPeer(strings.Repeat("x", 47) + "äöü")},
			[]string{`-> "` + strings.Repeat("x", 47) + `"..., 53 bytes`}},
		{"long binary", []report.Message{reporttest.ToPeer(strings.Repeat("\x00", 30))},
			[]string{"-> " + strings.Repeat("00 ", 23) + "00..., 30 bytes"}},
		{"Redis", []report.Message{reporttest.ToPeer("*3\r\n$3\r\nSET\r\n$5\r\ncount\r\n$2\r\n17\r\n"),
			reporttest.FromPeer("+OK\r\n")},
			[]string{`-> "*3\r\n$3\r\nSET\r\n$5\r\ncount\r\n$2\r\n17\r\n", 32 bytes`,
				`<- "+OK\r\n", 5 bytes`}},
		{"SMTP", []report.Message{reporttest.FromPeer("220 mail.example.org ESMTP OpenSMTPD\r\n"),
			reporttest.ToPeer("EHLO localhost\r\n"),
			reporttest.FromPeer("250-mail.example.org Hello localhost [127.0.0.1], pleased to meet " +
				"you\r\n250-8BITMIME\r\n250-SIZE 36700160\r\n250 HELP\r\n")},
			[]string{`<- "220 mail.example.org ESMTP OpenSMTPD\r\n", 38 bytes`,
				`-> "EHLO localhost\r\n", 16 bytes`,
				`<- "250-mail.example.org Hello localhost [127.0.0.1]"...`,
				`<- "250-8BITMIME\r\n250-SIZE 36700160\r\n250 HELP\r\n", 114 bytes`}},
		{"many lines", []report.Message{reporttest.ToPeer(strings.Repeat(strings.Repeat("y", 40)+"\n", 10))},
			append(slices.Repeat([]string{`-> "` + strings.Repeat("y", 40) + `\n"`}, 7),
				`-> "`+strings.Repeat("y", 40)+`\n"..., 410 bytes`)},
	})
}

// description is what is said of pieces that a fresh connection gets.
type description struct {
	name   string
	pieces []report.Message
	want   []string
}

func testDescriptions(t *testing.T, tests []description) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, describeAll(test.pieces)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	testDescriptions(t, []description{
		{"event only", []report.Message{{Event: "reset"}}, []string{"<- reset"}},
		{"not SSH after all", []report.Message{reporttest.ToPeer("SS"), reporttest.ToPeer("L-2")},
			[]string{`-> "SS", 2 bytes`, `-> "L-2", 3 bytes`}},
		{"identification in pieces", []report.Message{reporttest.ToPeer("S"), reporttest.ToPeer("SH-2"),
			reporttest.ToPeer(".0-x\r\n" + reporttest.SSHPacket(2, 5))},
			[]string{`-> "S", 1 byte`, "-> part of the identification, 4 bytes",
				"-> identification SSH-2.0-x", "-> IGNORE, 14 bytes"}},
		{"packet in pieces", []report.Message{reporttest.FromPeer("SSH-2.0-x\n"),
			reporttest.FromPeer(reporttest.SSHPacket(20, 9)[:3]),
			reporttest.FromPeer(reporttest.SSHPacket(20, 9)[3:8]),
			reporttest.FromPeer(reporttest.SSHPacket(20, 9)[8:])},
			[]string{"<- identification SSH-2.0-x", "<- part of a packet, 3 bytes",
				"<- part of KEXINIT, 10 bytes missing", "<- KEXINIT, 18 bytes"}},
		{"unknown number", []report.Message{reporttest.FromPeer("SSH-2.0-x\n" + reporttest.SSHPacket(99, 1))},
			[]string{"<- identification SSH-2.0-x", "<- message number 99, 10 bytes"}},
		{"endless identification", []report.Message{reporttest.ToPeer("SSH-" + strings.Repeat("x", 300))},
			[]string{"-> identification without an end, 256 bytes",
				`-> no SSH packet: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 48 bytes`}},
		{"giant packet", []report.Message{reporttest.ToPeer("SSH-2.0-x\n\xff\xff\xff\xff\x04\x14abc")},
			[]string{"-> identification SSH-2.0-x", "-> no SSH packet: length 4294967295, padding 4",
				`-> no SSH packet: "abc", 3 bytes`}},
		{"padding larger than packet", []report.Message{
			reporttest.ToPeer("SSH-2.0-x\n\x00\x00\x00\x08\xff\x14")},
			[]string{"-> identification SSH-2.0-x", "-> no SSH packet: length 8, padding 255"}},
		{"request and response", []report.Message{reporttest.ToPeer("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
			reporttest.FromPeer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"),
			reporttest.FromPeer("lo")},
			[]string{"-> GET / HTTP/1.1 (head of 27 bytes)", "<- HTTP/1.1 200 OK (head of 38 bytes)",
				"<- body, 3 bytes, 2 to come", "<- body, 2 bytes"}},
		{"head in pieces", []report.Message{reporttest.ToPeer("GE"), reporttest.ToPeer("T / HT"),
			reporttest.ToPeer("TP/1.1\r\n"), reporttest.ToPeer("\r\n")},
			[]string{`-> "GE", 2 bytes`, "-> part of a message, 6 bytes", "-> part of a message, 8 bytes",
				"-> GET / HTTP/1.1 (head of 18 bytes)"}},
		{"pipelined, without bodies", []report.Message{reporttest.ToPeer("HEAD /a HTTP/1.1\r\n\r\nGET /b " +
			"HTTP/1.1\r\n\r\n"),
			reporttest.FromPeer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 304 Not " +
				"Modified\r\nContent-Length: 9\r\n\r\n")},
			[]string{"-> HEAD /a HTTP/1.1 (head of 20 bytes)", "-> GET /b HTTP/1.1 (head of 19 bytes)",
				"<- HTTP/1.1 200 OK (head of 38 bytes)", "<- HTTP/1.1 304 Not Modified (head of 48 bytes)"}},
		{"continue belongs to the same request",
			[]report.Message{reporttest.ToPeer("HEAD / HTTP/1.1\r\n\r\n"),
				reporttest.FromPeer("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: " +
					"9\r\n\r\n"),
				reporttest.FromPeer("x")},
			[]string{"-> HEAD / HTTP/1.1 (head of 19 bytes)", "<- HTTP/1.1 100 Continue (head of 25 bytes)",
				"<- HTTP/1.1 200 OK (head of 38 bytes)", "<- part of a message, 1 byte"}},
		{"chunks", []report.Message{reporttest.FromPeer("HTTP/1.1 200 OK\r\nTransfer-Encoding: " +
			"chunked\r\n\r\n3;x\r\nabc\r\n0\r\nSum: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n")},
			[]string{"<- HTTP/1.1 200 OK (head of 47 bytes)", "<- chunk, 5 bytes", "<- end of the chunks",
				"<- HTTP/1.1 204 No Content (head of 27 bytes)"}},
		{"bad chunk", []report.Message{reporttest.FromPeer("HTTP/1.1 200 OK\r\nTransfer-Encoding: " +
			"chunked\r\n\r\n-3\r\nabc")},
			[]string{"<- HTTP/1.1 200 OK (head of 47 bytes)", `<- no chunk: "-3", 2 bytes`,
				`<- "abc", 3 bytes`}},
		{"body to the end", []report.Message{reporttest.FromPeer("HTTP/1.0 200 OK\r\n\r\nab"),
			{Data: []byte("c"), Event: "end of stream"}},
			[]string{"<- HTTP/1.0 200 OK (head of 19 bytes)", "<- body, 2 bytes", "<- body, 1 byte",
				"<- end of stream"}},
		{"method without HTTP", []report.Message{reporttest.ToPeer("GET key\r\nGET key\r\n")},
			[]string{`-> "GET key\r\nGET key\r\n", 18 bytes`}},
		{"endless head", []report.Message{reporttest.ToPeer("GET / HTTP/1.1\r\n" +
			strings.Repeat("a: b\n", maxHead/5))},
			[]string{"-> a head of more than 1,048,576 bytes", `-> "a: b\na: b\n", 10 bytes`}},
	})
}

// TestCommandsLikeHTTP: text protocols have commands with the names of methods. All of a piece that
// shows that it is no HTTP is shown as it is.
func TestCommandsLikeHTTP(t *testing.T) {
	testDescriptions(t, []description{
		{"command like a method", []report.Message{reporttest.ToPeer("GET n\r\n"),
			reporttest.FromPeer("$1\r\n0\r\n"), reporttest.ToPeer("GET n\r\n")},
			[]string{`-> "GET n\r\n", 7 bytes`, `<- "$1\r\n0\r\n", 7 bytes`, `-> "GET n\r\n", 7 bytes`}},
		{"command with HTTP inside", []report.Message{reporttest.ToPeer("GET a b HTTP/1.1\r\n")},
			[]string{`-> "GET a b HTTP/1.1\r\n", 18 bytes`}},
		{"HTTP and then something else", []report.Message{
			reporttest.ToPeer("GET / HTTP/1.1\r\n\r\nQUIT\r\n")},
			[]string{"-> GET / HTTP/1.1 (head of 18 bytes)", `-> "QUIT\r\n", 6 bytes`}},
	})
}

// TestCommandsInPieces: wherever what is no HTTP is cut, all of it is shown.
func TestCommandsInPieces(t *testing.T) {
	for stream, want := range map[string]string{
		"GET n\r\n":                      `-> "GET n\r\n", 7 bytes`,
		"GET / HTTP/1.1\r\n\r\nQUIT\r\n": `-> "QUIT\r\n", 6 bytes`,
	} {
		for at := 1; at < len(stream); at++ {
			lines := describeAll([]report.Message{reporttest.ToPeer(stream[:at]),
				reporttest.ToPeer(stream[at:])})
			if last := lines[len(lines)-1]; last != want {
				t.Errorf("%q and %q: %q, want %q at the end", stream[:at], stream[at:], lines, want)
			}
		}
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	streams := Decoders{}
	for conn := range 2 * maxConnections {
		streams.Describe(report.Message{Conn: conn, Data: []byte("S")})
	}
	if len(streams) != maxConnections {
		t.Errorf("state of %d connections is kept", len(streams))
	}
	if got := streams.Describe(report.Message{Conn: 2 * maxConnections,
		Data: []byte("SSH-2.0-x\n")}); got[0] != `"SSH-2.0-x\n", 10 bytes` {
		t.Errorf("beyond the bound: %q", got)
	}
}

// summarise keeps what does not depend on how a stream is cut: the messages that are complete.
func summarise(lines []string) []string {
	var kept []string
	for _, line := range lines {
		if !strings.Contains(line, "part of") && !strings.Contains(line, "to come") &&
			!strings.HasPrefix(line, "-> \"") {
			kept = append(kept, line)
		}
	}
	return kept
}

// The packets of a stream do not depend on how it is cut; the twin simply knows what it has put
// together.
func TestSSHPacketsInAnyPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream, want := "SSH-2.0-test\r\n", []string{"-> identification SSH-2.0-test"}
		for range rapid.IntRange(0, 5).Draw(t, "packets") {
			number := rapid.SampledFrom([]byte{1, 20, 30, 31}).Draw(t, "number")
			size := rapid.IntRange(1, 300).Draw(t, "size")
			stream += reporttest.SSHPacket(number, size)
			want = append(want, fmt.Sprintf("-> %s, %d bytes", sshMessages[number], size+9))
		}
		if diff := cmp.Diff(want, summarise(describeAll(cut(t, stream)))); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// cut takes a stream apart at random places.
func cut(t *rapid.T, stream string) []report.Message {
	var pieces []report.Message
	for len(stream) > 0 {
		n := rapid.IntRange(1, min(len(stream), 200)).Draw(t, "piece")
		pieces = append(pieces, reporttest.ToPeer(stream[:n]))
		stream = stream[n:]
	}
	return pieces
}

// What net/http writes is told apart into the same messages, however it is cut.
func TestHTTPRequestsInAnyPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stream bytes.Buffer
		var want []string
		for range rapid.IntRange(1, 4).Draw(t, "requests") {
			method := rapid.SampledFrom([]string{"GET", "POST", "PUT"}).Draw(t, "method")
			body := strings.Repeat("HTTP/1.1 ", rapid.IntRange(0, 40).Draw(t, "body"))
			request, err := http.NewRequest(method, "http://peer/path", io.NopCloser(strings.NewReader(body)))
			if err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "chunked") {
				request.TransferEncoding = []string{"chunked"}
			} else if request.ContentLength = int64(len(body)); body == "" {
				request.Body = http.NoBody
			}
			if err := request.Write(&stream); err != nil {
				t.Fatal(err)
			}
			want = append(want, method+" /path HTTP/1.1")
		}
		var got []string
		for _, line := range describeAll(cut(t, stream.String())) {
			if first, _, ok := strings.Cut(line, " (head of "); ok {
				got = append(got, strings.TrimPrefix(first, "-> "))
			} else if strings.Contains(line, "no ") {
				t.Fatalf("not understood: %s", line)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// tap is one end of a connection that notes what goes over it.
type tap struct {
	net.Conn
	mu       *sync.Mutex
	messages *[]report.Message
}

func (t tap) note(toPeer bool, data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*t.messages = append(*t.messages, report.Message{ToPeer: toPeer, Data: bytes.Clone(data)})
}

func (t tap) Write(p []byte) (int, error) {
	t.note(true, p)
	return t.Conn.Write(p)
}

func (t tap) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	if n > 0 {
		t.note(false, p[:n])
	}
	return n, err
}

// A real key exchange is told packet by packet.
func TestRealSSHHandshake(t *testing.T) {
	messages := handshake(t)
	count := regexp.MustCompile(`[0-9,]+ byte`)
	lines := map[bool][]string{}
	for _, line := range describeAll(messages) {
		toPeer := strings.HasPrefix(line, "-> ")
		line = count.ReplaceAllString(line[3:], "n byte")
		if strings.Contains(line, "part of") || strings.HasPrefix(line, `"`) {
			continue
		}
		if known := lines[toPeer]; len(known) == 0 || known[len(known)-1] != line {
			lines[toPeer] = append(known, line)
		}
	}
	want := map[bool][]string{
		true: {"identification SSH-2.0-Go", "KEXINIT, n bytes", "KEX_ECDH_INIT, n bytes", "NEWKEYS, n bytes",
			"encrypted packets, n bytes"},
		false: {"identification SSH-2.0-Go", "KEXINIT, n bytes", "KEX_ECDH_REPLY, n bytes",
			"NEWKEYS, n bytes", "encrypted packets, n bytes"},
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// handshake lets a client log in to a server, both of x/crypto/ssh, and returns what it saw.
func handshake(t *testing.T) []report.Message {
	t.Helper()
	signer, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	served := make(chan error, 1)
	go func() {
		server := &ssh.ServerConfig{NoClientAuth: true}
		server.AddHostKey(signer)
		conn, err := listener.Accept()
		if err == nil {
			_, _, _, err = ssh.NewServerConn(conn, server)
		}
		served <- err
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var messages []report.Message
	client := &ssh.ClientConfig{HostKeyCallback: ssh.FixedHostKey(signer.PublicKey())}
	session, _, _, err := ssh.NewClientConn(tap{conn, &mu, &messages}, "", client)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	session.Close()
	mu.Lock()
	defer mu.Unlock()
	return messages
}

// Any bytes, in any pieces, are described in a bounded number of printable lines.
func FuzzDescribe(f *testing.F) {
	f.Add([]byte("SSH-2.0-x\r\n"+reporttest.SSHPacket(20, 10)+reporttest.SSHPacket(newKeys, 1)+"rest"),
		byte(7))
	f.Add([]byte("GET / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcPOST / HTTP/1.1\r\n\r\n"), byte(5))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"), byte(3))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\nabc"), byte(1))
	f.Fuzz(func(t *testing.T, data []byte, size byte) {
		for _, toPeer := range []bool{true, false} {
			streams := Decoders{}
			for rest := data; len(rest) > 0; {
				n := min(len(rest), int(size)+1)
				lines := streams.Describe(report.Message{ToPeer: toPeer, Data: rest[:n]})
				if len(lines) == 0 || len(lines) > n+2 {
					t.Fatalf("%q gives %d lines", rest[:n], len(lines))
				}
				for _, line := range lines {
					if line == "" || len(line) > 8*maxHTTPLine || words.Printable(line) != line {
						t.Fatalf("%q gives the line %q", rest[:n], line)
					}
				}
				rest = rest[n:]
			}
		}
	})
}
