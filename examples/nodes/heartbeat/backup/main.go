// Command backup takes over when it has not heard of the primary for some time. It looks for ten
// seconds, in which the primary is alive.
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
	flag.Parse()
	conn, err := net.ListenPacket("udp", ":7900")
	if err != nil {
		panic(err)
	}
	beat := make([]byte, 100)
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		conn.SetReadDeadline(time.Now().Add(*patience))
		_, _, err := conn.ReadFrom(beat)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			tandem.Publish("leader", "backup")
			return
		}
		if err != nil {
			panic(err)
		}
	}
}
