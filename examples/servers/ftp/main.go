// Ftp fetches two files over one connection with github.com/jlaffaye/ftp: the lock does not
// cover the end of a transfer, and the second command meets the reply to the first. With -fixed
// it does.
package main

import (
	"io"
	"log"
	"sync"

	"github.com/jlaffaye/ftp"

	"example.com/servers/flags"
)

type session struct {
	lock  sync.Mutex
	conn  *ftp.ServerConn
	whole bool
}

func (s *session) fetch(name string) (string, error) {
	s.lock.Lock()
	response, err := s.conn.Retr(name)
	if !s.whole {
		s.lock.Unlock()
	} else {
		defer s.lock.Unlock()
	}
	if err != nil {
		return "", err
	}
	defer response.Close()
	text, err := io.ReadAll(response)
	return string(text), err
}

func main() {
	fixed := flags.Fixed()
	conn, err := ftp.Dial("127.0.0.1:2121")
	if err != nil {
		log.Fatal(err)
	}
	if err := conn.Login("anonymous", "anonymous"); err != nil {
		log.Fatal(err)
	}
	s := &session{conn: conn, whole: fixed}
	var both sync.WaitGroup
	for name, want := range map[string]string{"one.txt": "1111", "two.txt": "2222"} {
		both.Go(func() {
			if got, err := s.fetch(name); err != nil || got != want {
				log.Fatalf("%s: %q, want %q (%v)", name, got, want, err)
			}
		})
	}
	both.Wait()
	if err := conn.Quit(); err != nil {
		log.Fatal(err)
	}
}
