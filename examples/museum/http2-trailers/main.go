// Command http2-trailers sends a server over HTTP/2 a text, and then how long it was.
package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"golang.org/x/net/http2"
)

func main() {
	client := &http.Client{Transport: &http2.Transport{
		AllowHTTP: true,
		DialTLS: func(network, address string, _ *tls.Config) (net.Conn, error) {
			return net.Dial(network, address)
		},
	}}
	text := io.NopCloser(strings.NewReader("a text"))
	request, err := http.NewRequest("PUT", "http://127.0.0.1:8080/", text)
	if err != nil {
		fmt.Println(err)
		return
	}
	request.Trailer = http.Header{"Length": {"6"}}
	answer, err := client.Do(request)
	if err != nil {
		fmt.Println(err)
		return
	}
	answer.Body.Close()
	fmt.Println(answer.Status)
}
