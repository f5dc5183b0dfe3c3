// Command server answers HTTPS requests, by HTTP/1.1 or HTTP/2, with what was
// asked. Its certificate and key are the files cert.pem and key.pem.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"runtime"
)

func main() {
	runtime.GOMAXPROCS(1) // few threads make a small checkpoint
	http.HandleFunc("/page/", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<10))
		if err != nil {
			log.Print(err)
			return
		}
		fmt.Fprintf(w, "%s %s %s", r.Proto, r.URL.Path, body)
	})
	log.Fatal(http.ListenAndServeTLS("127.0.0.1:8443", "cert.pem", "key.pem", nil))
}
