// Command idle asks a web server twice over one connection, which it takes to last. With -again it asks over
// another one if the server has closed the first, and with -sleep it sleeps in between.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

type client struct {
	conn net.Conn
	r    *bufio.Reader
}

func dial() *client {
	conn, err := net.Dial("tcp", "127.0.0.1:8080")
	if err != nil {
		panic(err)
	}
	return &client{conn, bufio.NewReader(conn)}
}

func (c *client) get(page string) error {
	if _, err := fmt.Fprintf(c.conn, "GET /%s HTTP/1.1\r\nHost: merecat\r\nConnection: keep-alive\r\n\r\n", page); err != nil {
		return err
	}
	response, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

func main() {
	again := flag.Bool("again", false, "ask over another connection")
	sleep := flag.Bool("sleep", false, "sleep in between")
	flag.Parse()
	c := dial()
	for i := range 2 {
		if *sleep && i > 0 {
			time.Sleep(time.Minute)
		}
		err := c.get("file0.txt")
		if *again && errors.Is(err, io.ErrUnexpectedEOF) {
			c.conn.Close()
			c = dial()
			err = c.get("file0.txt")
		}
		if err != nil {
			panic(err)
		}
	}
	c.conn.Close()
}
