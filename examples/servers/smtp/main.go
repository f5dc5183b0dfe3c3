// Smtp sends two mails over one connection with github.com/emersion/go-smtp: the lock is given
// up within a transaction, and the two mix. With -fixed it covers all of one.
package main

import (
	"log"
	"strings"
	"sync"

	"github.com/emersion/go-smtp"

	"example.com/servers/flags"
)

type mailer struct {
	lock   sync.Mutex
	client *smtp.Client
	whole  bool
}

func (m *mailer) send(from, text string) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	if err := m.client.Mail(from, nil); err != nil {
		return err
	}
	if !m.whole {
		m.lock.Unlock() // the reply may take long
		m.lock.Lock()
	}
	if err := m.client.Rcpt("bob@example.test", nil); err != nil {
		return err
	}
	w, err := m.client.Data()
	if err != nil {
		return err
	}
	if _, err := strings.NewReader(text).WriteTo(w); err != nil {
		return err
	}
	return w.Close()
}

func main() {
	fixed := flags.Fixed()
	client, err := smtp.Dial("127.0.0.1:2525")
	if err != nil {
		log.Fatal(err)
	}
	m := &mailer{client: client, whole: fixed}
	var both sync.WaitGroup
	for _, who := range []string{"anne", "carl"} {
		both.Go(func() {
			if err := m.send(who+"@example.test", "Subject: hello\r\n\r\nI am "+who+".\r\n"); err != nil {
				log.Fatal(who, ": ", err)
			}
		})
	}
	both.Wait()
	if err := client.Quit(); err != nil {
		log.Fatal(err)
	}
}
