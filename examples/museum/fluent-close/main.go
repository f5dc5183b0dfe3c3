// Command fluent-close logs to a Fluentd, and closes the logger while another goroutine logs.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"sync"

	"github.com/fluent/fluent-logger-golang/fluent"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:24224")
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		if conn, err := listener.Accept(); err == nil {
			io.Copy(io.Discard, conn)
		}
	}()
	logger, err := fluent.New(fluent.Config{FluentHost: "127.0.0.1", Async: true})
	if err != nil {
		log.Fatal(err)
	}
	var requests sync.WaitGroup
	requests.Go(func() {
		err := logger.Post("museum", map[string]string{"message": "hello"})
		fmt.Println(err)
	})
	logger.Close()
	requests.Wait()
}
