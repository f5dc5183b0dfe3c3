// Command library lends books over HTTP: GET /borrow/TITLE answers with where the book stands,
// once. Every access to the shelf is under a mutex, and yet to look whether a book is there and
// to take it are two critical sections. When two readers ask for the same book at the same time,
// one of the handlers panics. Package net/http recovers from that, so that the server goes on,
// and only the reader notices: curl ends with status 52, since there is no answer.
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
	"sync"
)

type book struct{ place string }

// shelf has the books that are not lent.
type shelf struct {
	mu    sync.Mutex
	books map[string]*book
}

func (s *shelf) has(title string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.books[title] != nil
}

// take returns nil if the book is not there.
func (s *shelf) take(title string) *book {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[title]
	delete(s.books, title)
	return b
}

func (s *shelf) borrow(w http.ResponseWriter, r *http.Request) {
	title := r.PathValue("title")
	if !s.has(title) {
		fmt.Fprintf(w, "%s is lent\n", title)
		return
	}
	fmt.Fprintf(w, "%s is at %s\n", title, s.take(title).place)
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to listen at")
	flag.Parse()
	s := &shelf{books: map[string]*book{"emma": {"A 12"}}}
	http.HandleFunc("GET /borrow/{title}", s.borrow)
	log.Fatal(http.ListenAndServe(*addr, nil))
}
