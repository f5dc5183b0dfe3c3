// Command client asks for a lock, and if it gets it, works for one second and a half. It has the
// lock for two seconds: counted from the answer, or with -careful from the request.
package main

import (
	"flag"
	"net"
	"time"

	"github.com/tandem-mc/tandem"
)

const (
	lease = 2 * time.Second
	work  = 1500 * time.Millisecond
)

func main() {
	careful := flag.Bool("careful", false, "the lease has begun when the lock was asked for")
	after := flag.Duration("after", 0, "how long to wait before that")
	flag.Parse()
	time.Sleep(*after)
	conn, err := net.Dial("tcp", "127.0.0.1:7950")
	if err != nil {
		return // who does not reach the server does not get the lock
	}
	defer conn.Close()
	began := time.Now()
	if !ask(conn) {
		return
	}
	if !*careful {
		began = time.Now()
	}
	if time.Until(began.Add(lease)) < work {
		return // it would not have the lock for long enough
	}
	tandem.Publish("lock", true)
	time.Sleep(work)
	tandem.Publish("lock", false)
}

// ask asks for the lock, and says whether this client has it now.
func ask(conn net.Conn) bool {
	if _, err := conn.Write([]byte("?")); err != nil {
		return false
	}
	answer := make([]byte, 1)
	_, err := conn.Read(answer)
	return err == nil && answer[0] == 'y'
}
