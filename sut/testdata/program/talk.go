package main

import (
	"fmt"
	"net"
	"sync"
	"syscall"
)

// twoTalk has two goroutines that send something on a connection of their own, and read the answer.
func twoTalk() {
	var group sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		group.Go(func() {
			c := dial()
			c.Write([]byte(name))
			c.Read(make([]byte, 1))
			fmt.Print(name)
		})
	}
	group.Wait()
}

// try reads without waiting, before anything can have arrived and when it has, and then waits.
func try() {
	c := dial()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		panic(err)
	}
	attempt := func() {
		raw.Read(func(fd uintptr) bool {
			n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_DONTWAIT)
			fmt.Print(n, " ", err, " ")
			return true
		})
	}
	attempt()
	c.Write([]byte("xy"))
	attempt()
	n, err := c.Read(make([]byte, 1))
	fmt.Print(n, " ", err)
}
