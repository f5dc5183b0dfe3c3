// Store is the store of a site. Two writers put entries into it, and each of these goes to the
// backup of the site. Once all of them are there, the store tells that to the next site, and waits
// until it has heard of the one before.
package main

import (
	"flag"
	"io"
	"net"
	"sync"
)

// done is what sites tell each other.
const done = "done"

func main() {
	listen := flag.String("listen", "", "where the site before tells that it is done")
	backup := flag.String("backup", "", "where the backup is")
	next := flag.String("next", "", "where the next site is")
	flag.Parse()
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		panic(err)
	}
	write(*backup)
	tell(*next)
	hear(listener)
}

// write has both writers write their entries, in whatever order.
func write(backup string) {
	conn, err := net.Dial("tcp", backup)
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	var writers sync.WaitGroup
	var store sync.Mutex
	for _, entries := range [][]string{{"a1", "a2"}, {"b1", "b2"}} {
		writers.Go(func() {
			for _, entry := range entries {
				store.Lock()
				if _, err := io.WriteString(conn, entry); err != nil {
					panic(err)
				}
				store.Unlock()
			}
		})
	}
	writers.Wait()
}

// tell tells another site that this one is done.
func tell(next string) {
	conn, err := net.Dial("tcp", next)
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, done); err != nil {
		panic(err)
	}
}

// hear waits until the site before says that it is done.
func hear(listener net.Listener) {
	conn, err := listener.Accept()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	heard := make([]byte, len(done))
	if _, err := io.ReadFull(conn, heard); err != nil || string(heard) != done {
		panic("the site before is not done")
	}
}
