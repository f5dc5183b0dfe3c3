// Command primary leads, and tells its backup that it is alive, once a second. With -ask, it first
// asks the backup whether that leads: it may have crashed, and have been away for too long.
package main

import (
	"flag"
	"net"
	"time"

	"github.com/tandem-mc/tandem"
)

func main() {
	beats := flag.Int("beats", 15, "how often it says that it is alive")
	ask := flag.Bool("ask", false, "ask first whether the backup leads")
	flag.Parse()
	if *ask && backupLeads() {
		return
	}
	tandem.Publish("leader", "primary")
	// A heartbeat is no conversation: nobody answers, and nothing is sent again.
	conn, err := net.Dial("udp", "backup:7900")
	if err != nil {
		panic(err)
	}
	for range *beats {
		conn.Write([]byte("alive")) // the backup may not be there yet
		time.Sleep(time.Second)
	}
}

// backupLeads asks, and waits for an answer for a second. To the backup, the question is a sign of
// life as well: it waits for longer than that before it takes over.
func backupLeads() bool {
	conn, err := net.Dial("udp", "backup:7900")
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	conn.Write([]byte("?"))
	conn.SetReadDeadline(time.Now().Add(time.Second))
	_, err = conn.Read(make([]byte, 100))
	return err == nil
}
