// Command client sends an order over QUIC, with quic-go. With -wait it waits for the answer before
// it closes the connection. Without, what the server has not read by then may be discarded.
package main

import (
	"context"
	"crypto/tls"
	"flag"
	"io"
	"log"

	"github.com/quic-go/quic-go"

	"github.com/tandem-mc/tandem"
)

var wait = flag.Bool("wait", false, "wait for the answer")

func main() {
	flag.Parse()
	c, err := quic.DialAddr(context.Background(), "127.0.0.1:7600",
		&tls.Config{InsecureSkipVerify: true, NextProtos: []string{"orders"}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	s, err := c.OpenStreamSync(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	if _, err = s.Write([]byte("an order")); err == nil {
		err = s.Close() // all has been written
	}
	if err == nil && *wait {
		_, err = io.ReadAll(s)
	}
	if err == nil {
		tandem.Publish("order", "done")
	}
	c.CloseWithError(0, "")
}
