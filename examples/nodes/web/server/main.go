// Command server answers requests over HTTP.
package main

import (
	"fmt"
	"net/http"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s", r.Method, r.URL.Path)
	})
	panic(http.ListenAndServe("127.0.0.1:7200", nil))
}
