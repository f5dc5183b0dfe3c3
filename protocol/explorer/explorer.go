// Package explorer is a page for walking through the states of a protocol by hand: what each node
// keeps, which messages are under way, and all that may happen next. It is as the Explorer of
// stateright. The address of a page has the run to it, which protocol.Replay takes.
package explorer

import (
	_ "embed"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"strings"

	"github.com/tandem-mc/tandem/protocol"
)

//go:embed page.html
var pageText string

// page is the one page that there is.
var page = template.Must(template.New("page").Parse(pageText))

// Handler serves the page of a model. Requests are independent: a run is followed anew for each, so
// a page can be kept, or sent to somebody else.
func Handler(m *protocol.Model) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		position, err := protocol.Look(m, r.FormValue("run"))
		if err != nil {
			http.Error(w, "protocol: "+err.Error(), http.StatusNotFound)
			return
		}
		// The page is small, so it is made before anything is sent.
		var b strings.Builder
		if err := page.Execute(&b, view{position, back(position.Run)}); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		// An error means that nobody is there any more.
		_, _ = w.Write([]byte(b.String()))
	})
}

// view is what the page shows.
type view struct {
	*protocol.Position
	// Back is the run without its last step.
	Back string
}

// back is a run without its last step; empty before the first.
func back(run string) string {
	return run[:max(0, strings.LastIndexByte(run, '.'))]
}

// Serve serves the page at an address, such as localhost:8080, until it fails. Announce is called
// with the URL when it can be opened; it may be nil.
func Serve(address string, m *protocol.Model, announce func(url string)) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("the explorer cannot listen: %w; choose another address", err)
	}
	if announce != nil {
		announce("http://" + listener.Addr().String())
	}
	return http.Serve(listener, Handler(m))
}
