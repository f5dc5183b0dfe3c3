// Command ticking waits for a peer to answer, while a goroutine loops on a timer, as clients do that see to it that
// connections are alive. The argument says what that goroutine does.
package main

import (
	"fmt"
	"net"
	"os"
	"time"
)

var counted int

var loops = map[string]func(){
	"sleep": func() {
		for {
			time.Sleep(5 * time.Second)
		}
	},
	"ticker": func() {
		for range time.Tick(time.Second) {
		}
	},
	"clock": func() {
		for began := time.Now(); time.Since(began) < 4*time.Minute; {
			time.Sleep(time.Second)
		}
		os.Exit(0)
	},
	"count": func() {
		for ; counted < 200; counted++ {
			time.Sleep(time.Second)
		}
		os.Exit(0)
	},
}

func main() {
	c, err := net.Dial("tcp", "127.0.0.1:8080")
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(c, "hello")
	go loops[os.Args[1]]()
	c.Read(make([]byte, 1))
}
