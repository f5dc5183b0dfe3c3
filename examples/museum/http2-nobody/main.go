// Command http2-nobody asks a server over HTTP/2 twice at the same time whether it has a page.
package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	"golang.org/x/net/http2"
)

func main() {
	client := &http.Client{Transport: &http2.Transport{
		AllowHTTP: true,
		DialTLS: func(network, address string, _ *tls.Config) (net.Conn, error) {
			return net.Dial(network, address)
		},
	}}
	var asked sync.WaitGroup
	for range 2 {
		asked.Go(func() {
			answer, err := client.Head("http://127.0.0.1:8080/")
			if err != nil {
				fmt.Println(err)
				return
			}
			defer answer.Body.Close()
			n, err := io.Copy(io.Discard, answer.Body)
			fmt.Println(answer.Status, n, err)
		})
	}
	asked.Wait()
}
