// Command primary leads, and tells its backup that it is alive, once a second.
package main

import (
	"net"
	"time"

	"github.com/tandem-mc/tandem"
)

func main() {
	tandem.Publish("leader", "primary")
	// A heartbeat is no conversation: nobody answers, and nothing is sent again.
	conn, err := net.Dial("udp", "backup:7900")
	if err != nil {
		panic(err)
	}
	for range 15 {
		conn.Write([]byte("alive")) // the backup may not be there yet
		time.Sleep(time.Second)
	}
}
