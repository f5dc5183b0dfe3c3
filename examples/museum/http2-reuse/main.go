// Command http2-reuse asks a server over HTTP/2 for a page twice, with the same request.
package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"

	"golang.org/x/net/http2"
)

func main() {
	client := &http.Client{Transport: &http2.Transport{
		AllowHTTP: true,
		DialTLS: func(network, address string, _ *tls.Config) (net.Conn, error) {
			return net.Dial(network, address)
		},
	}}
	request, err := http.NewRequest("GET", "http://127.0.0.1:8080/", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		answer, err := client.Do(request)
		if err != nil {
			fmt.Println(err)
			return
		}
		page, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		fmt.Println(len(page), err)
		request.Header = http.Header{"If-None-Match": {answer.Header.Get("Etag")}}
	}
}
