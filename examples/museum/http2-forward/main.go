// Command http2-forward copies a page of a server over HTTP/2 to another place of the same server.
package main

import (
	"crypto/tls"
	"fmt"
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
	page, err := client.Get("http://127.0.0.1:8080/")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer page.Body.Close()
	answer, err := client.Post("http://127.0.0.1:8080/copy", "text/html", page.Body)
	if err != nil {
		fmt.Println(err)
		return
	}
	answer.Body.Close()
	fmt.Println(answer.Status)
}
