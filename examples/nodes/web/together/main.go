// Command together has the client and the server in one program, for comparison.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s", r.Method, r.URL.Path)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:7200")
	if err != nil {
		panic(err)
	}
	go http.Serve(listener, nil)
	r, err := http.Get("http://127.0.0.1:7200/page")
	if err != nil {
		panic(err)
	}
	defer r.Body.Close()
	if body, err := io.ReadAll(r.Body); err != nil || string(body) != "GET /page" {
		panic("the server says " + string(body))
	}
}
