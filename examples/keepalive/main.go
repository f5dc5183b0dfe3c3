// Command keepalive fetches files from a web server, one after the other over one connection. It
// takes that to last, and in tests it always does: the server closes a connection only when it
// was idle for a while. When that while is over just before the next request, what was a request
// to the server is one to nobody.
//
// With -again it asks once more, over another connection, what was not answered on one that had
// served before. That is right for GET, which does no harm if it is done twice.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

// maxBody bounds what is read of a file, in bytes.
const maxBody = 1 << 20

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "`address` of the web server")
	n := flag.Int("n", 2, "`number` of files, fetched one after the other")
	again := flag.Bool("again", false, "ask again over another connection")
	flag.Parse()
	if *n < 1 || *n > 100 {
		fmt.Fprintf(os.Stderr, "keepalive: -n %d: want 1 to 100 files\n", *n)
		os.Exit(2)
	}
	c := client{addr: *addr, again: *again}
	defer c.close()
	for i := range *n {
		body, err := c.get(fmt.Sprintf("file%d.txt", i))
		if err != nil {
			fmt.Fprintf(os.Stderr, "keepalive: file%d.txt: %v\n", i, err)
			os.Exit(1)
		}
		fmt.Print(body)
	}
}

// client is a connection that is kept.
type client struct {
	addr  string
	again bool
	conn  net.Conn // nil: there is none
	in    *bufio.Reader
}

func (c *client) close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// get fetches a file.
func (c *client) get(name string) (string, error) {
	kept := c.conn != nil
	body, answered, err := c.ask(name)
	if c.again && kept && err != nil && !answered {
		c.close()
		body, _, err = c.ask(name)
	}
	return body, err
}

// ask sends a request and reads the answer, if there is one.
func (c *client) ask(name string) (body string, answered bool, err error) {
	if c.conn == nil {
		if c.conn, err = net.Dial("tcp", c.addr); err != nil {
			return "", false, err
		}
		c.in = bufio.NewReader(c.conn)
	}
	if _, err := fmt.Fprintf(c.conn, "GET /%s HTTP/1.1\r\nHost: %s\r\nConnection: keep-alive\r\n\r\n", name,
		c.addr); err != nil {
		return "", false, err
	}
	if _, err := c.in.Peek(1); err != nil {
		return "", false, fmt.Errorf("no answer: %w", err)
	}
	response, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return "", true, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", true, fmt.Errorf("the server answered %s", response.Status)
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	return string(content), true, err
}
