// Command nondeterministic depends on what no checker controls: the processor's
// time stamp counter, and the number that the kernel gives to a thread.
package main

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"
)

// counter reads the time stamp counter.
func counter() uint64

func main() {
	switch os.Args[1] {
	case "events":
		var n atomic.Int32
		for range counter() % 1009 {
			n.Add(1)
		}
		n.Load()
	case "output":
		fmt.Println("it is", counter())
	case "exit code":
		os.Exit(int(1 + counter()%251))
	case "thread":
		id, _, _ := syscall.RawSyscall(syscall.SYS_GETTID, 0, 0, 0)
		fmt.Println("thread", id)
	case "input":
		c, err := net.Dial("tcp", "127.0.0.1:7777")
		if err == nil {
			c.Write([]byte("input"))
		}
	}
}
