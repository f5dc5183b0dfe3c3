// Command backup takes over when it has not heard of the primary for some time. It looks for ten
// seconds, in which the primary is alive. While it leads, it says so to whoever asks.
package main

import (
	"errors"
	"flag"
	"net"
	"os"
	"time"

	"github.com/tandem-mc/tandem"
)

func main() {
	patience := flag.Duration("patience", 1500*time.Millisecond, "how long no heartbeat may come")
	look := flag.Duration("look", 10*time.Second, "how long to look")
	term := flag.Duration("lead", 0, "how long to lead")
	flag.Parse()
	conn, err := net.ListenPacket("udp", ":7900")
	if err != nil {
		panic(err)
	}
	beat := make([]byte, 100)
	for end := time.Now().Add(*look); time.Now().Before(end); {
		conn.SetReadDeadline(time.Now().Add(*patience))
		_, _, err := conn.ReadFrom(beat)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			tandem.Publish("leader", "backup")
			lead(conn, *term)
			return
		}
		if err != nil {
			panic(err)
		}
	}
}

// lead answers questions for some time.
func lead(conn net.PacketConn, term time.Duration) {
	if term == 0 {
		return
	}
	conn.SetReadDeadline(time.Now().Add(term))
	for message := make([]byte, 100); ; {
		n, from, err := conn.ReadFrom(message)
		if err != nil {
			return
		}
		if string(message[:n]) == "?" {
			conn.WriteTo([]byte("the backup leads"), from)
		}
	}
}
