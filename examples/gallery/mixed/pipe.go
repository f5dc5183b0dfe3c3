package mixed

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

const pipes = "blocking: library, pipe"

var pipeBugs = []bug.Bug{
	{
		Name: "both-write-first", Class: pipes, Shows: bug.Deadlock,
		Doc:   "both ends of a connection begin with writing their banner, and nothing buffers it",
		Buggy: func() { exchangeBanners(greet, greet) },
		Fixed: func() { exchangeBanners(greet, greetWhileReading) },
	},
	{
		Name: "answer-before-body", Class: pipes, Shows: bug.Deadlock,
		Doc:   "a server answers before it has read the request, of which the client still writes the body",
		Buggy: func() { post(answerAtOnce) },
		Fixed: func() { post(answerWhenRead) },
	},
	{
		Name: "pipe-not-closed", Class: pipes, Shows: bug.Deadlock,
		Doc:   "who writes into a pipe fails and returns, and its reader waits for more",
		Buggy: func() { compress(func(w *io.PipeWriter, err error) {}) },
		Fixed: func() { compress(func(w *io.PipeWriter, err error) { w.CloseWithError(err) }) },
	},
}

// greet has the bug, if both sides do it: a net.Pipe has no buffer, and the
// buffers of real connections are not for a protocol to build upon.
func greet(c net.Conn) {
	defer c.Close()
	fmt.Fprintln(c, "hello")
	readLine(c)
}

// greetWhileReading does both at the same time.
func greetWhileReading(c net.Conn) {
	defer c.Close()
	var reader sync.WaitGroup
	reader.Go(func() { readLine(c) })
	fmt.Fprintln(c, "hello")
	reader.Wait()
}

// readLine reads to the end of a line, byte by byte: what follows is for others.
func readLine(r io.Reader) {
	var b [1]byte
	for b[0] != '\n' {
		if _, err := r.Read(b[:]); err != nil {
			return
		}
	}
}

func exchangeBanners(client, server func(net.Conn)) {
	c, s := net.Pipe()
	var ends sync.WaitGroup
	ends.Go(func() { client(c) })
	ends.Go(func() { server(s) })
	ends.Wait()
}

// answerAtOnce has the bug: it knows the answer when it has read the header.
func answerAtOnce(c net.Conn) {
	defer c.Close()
	r := bufio.NewReaderSize(c, 16)
	r.ReadString('\n')
	fmt.Fprintln(c, "413 too large")
}

// answerWhenRead reads what it does not need, too.
func answerWhenRead(c net.Conn) {
	defer c.Close()
	r := bufio.NewReaderSize(c, 16)
	r.ReadString('\n')
	r.ReadString('.')
	fmt.Fprintln(c, "413 too large")
}

func post(serve func(net.Conn)) {
	c, s := net.Pipe()
	var ends sync.WaitGroup
	ends.Go(func() { serve(s) })
	ends.Go(func() {
		defer c.Close()
		fmt.Fprintln(c, "POST /upload")
		fmt.Fprint(c, strings.Repeat("data ", 4)+".")
		readLine(c)
	})
	ends.Wait()
}

// compress reads what another goroutine writes until an error, at which fail is
// called. A pipe does not know who holds its ends, or whether they live.
func compress(fail func(*io.PipeWriter, error)) {
	r, w := io.Pipe()
	go func() {
		fmt.Fprint(w, "the first block")
		fail(w, io.ErrUnexpectedEOF)
	}()
	io.Copy(io.Discard, r)
}
