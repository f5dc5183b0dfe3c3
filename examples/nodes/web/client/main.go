// Command client asks the server over HTTP.
package main

import (
	"io"
	"net/http"
)

func main() {
	r, err := http.Get("http://127.0.0.1:7200/page")
	if err != nil {
		panic(err)
	}
	defer r.Body.Close()
	if body, err := io.ReadAll(r.Body); err != nil || string(body) != "GET /page" {
		panic("the server says " + string(body))
	}
}
