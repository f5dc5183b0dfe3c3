// Imap files mail with github.com/emersion/go-imap: two goroutines share a connection, on which
// one mailbox at a time is selected, and one looks into the other's. With -fixed the lock covers
// selecting and looking.
package main

import (
	"bytes"
	"log"
	"sync"
	"time"

	"github.com/emersion/go-imap"
	"github.com/emersion/go-imap/client"

	"example.com/servers/flags"
)

type reader struct {
	lock  sync.Mutex
	c     *client.Client
	whole bool
}

func (r *reader) count(mailbox string) (int, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if _, err := r.c.Select(mailbox, true); err != nil {
		return 0, err
	}
	if !r.whole {
		r.lock.Unlock()
		r.lock.Lock()
	}
	found, err := r.c.Search(imap.NewSearchCriteria())
	return len(found), err
}

func main() {
	fixed := flags.Fixed()
	c, err := client.Dial("127.0.0.1:1143")
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Login("anne", "secret"); err != nil {
		log.Fatal(err)
	}
	if err := c.Create("old"); err != nil {
		log.Fatal(err)
	}
	if err := c.Append("old", nil, time.Time{},
		bytes.NewBufferString("Subject: hello\r\n\r\nText\r\n")); err != nil {
		log.Fatal(err)
	}
	r := &reader{c: c, whole: fixed}
	var both sync.WaitGroup
	for mailbox, want := range map[string]int{"INBOX": 0, "old": 1} {
		both.Go(func() {
			if got, err := r.count(mailbox); err != nil || got != want {
				log.Fatalf("%s holds %d, want %d (%v)", mailbox, got, want, err)
			}
		})
	}
	both.Wait()
	if err := c.Logout(); err != nil {
		log.Fatal(err)
	}
}
