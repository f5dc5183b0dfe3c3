// Command store takes a value, has the copy take it too, and acknowledges it. If the copy does not
// answer within a second, it acknowledges the value all the same: the copy will get it later. With
// the argument fixed it says no then.
package main

import (
	"io"
	"net"
	"os"
	"time"
)

func main() {
	fixed := len(os.Args) > 1 && os.Args[1] == "fixed"
	l, err := net.Listen("tcp", "127.0.0.1:7700")
	if err != nil {
		panic(err)
	}
	var replica net.Conn
	for replica == nil { // the network may be parted for longer than a connect waits
		replica, _ = net.Dial("tcp", "127.0.0.1:7701")
	}
	conn, err := l.Accept()
	if err != nil {
		panic(err)
	}
	value, answer := make([]byte, 1), byte('y')
	if _, err := io.ReadFull(conn, value); err != nil {
		panic(err)
	}
	if _, err := replica.Write(value); err != nil {
		panic(err)
	}
	replica.SetReadDeadline(time.Now().Add(time.Second))
	if _, err := io.ReadFull(replica, make([]byte, 1)); err != nil && fixed {
		answer = 'n'
	}
	if _, err := conn.Write([]byte{answer}); err != nil {
		panic(err)
	}
	// What is under way may still arrive.
	replica.SetReadDeadline(time.Time{})
	io.Copy(io.Discard, conn)
	replica.(*net.TCPConn).CloseWrite()
	io.Copy(io.Discard, replica)
}
