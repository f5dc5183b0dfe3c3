// Dns looks names up with github.com/miekg/dns: two goroutines share a connection, and one gets
// the other's answer. With -fixed they ask one after the other.
package main

import (
	"flag"
	"log"
	"sync"

	"github.com/miekg/dns"

	"example.com/servers/flags"
)

type resolver struct {
	lock sync.Mutex
	conn *dns.Conn
}

func (r *resolver) lookUp(name string, whole bool) (string, error) {
	question := new(dns.Msg).SetQuestion(dns.Fqdn(name), dns.TypeA)
	r.lock.Lock()
	err := r.conn.WriteMsg(question)
	if !whole { // the lock keeps two questions apart, but not the answers
		r.lock.Unlock()
		r.lock.Lock()
	}
	defer r.lock.Unlock()
	if err != nil {
		return "", err
	}
	answer, err := r.conn.ReadMsg()
	if err != nil || len(answer.Answer) == 0 {
		return "", err
	}
	return answer.Answer[0].(*dns.A).A.String(), nil
}

func main() {
	network := flag.String("net", "udp", "udp or tcp")
	fixed := flags.Fixed()
	conn, err := dns.Dial(*network, "127.0.0.1:5353")
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	r := &resolver{conn: conn}
	var both sync.WaitGroup
	for name, want := range map[string]string{"a.example.test": "10.0.0.1", "b.example.test": "10.0.0.2"} {
		both.Go(func() {
			if got, err := r.lookUp(name, fixed); err != nil || got != want {
				log.Fatalf("%s has %q, want %s (%v)", name, got, want, err)
			}
		})
	}
	both.Wait()
}
