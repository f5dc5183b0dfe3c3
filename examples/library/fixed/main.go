// Command fixed is the library without the bug: to look for a book and to take it is one
// critical section.
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
	b := s.take(title)
	if b == nil {
		fmt.Fprintf(w, "%s is lent\n", title)
		return
	}
	fmt.Fprintf(w, "%s is at %s\n", title, b.place)
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to listen at")
	flag.Parse()
	s := &shelf{books: map[string]*book{"emma": {"A 12"}}}
	http.HandleFunc("GET /borrow/{title}", s.borrow)
	log.Fatal(http.ListenAndServe(*addr, nil))
}
