// Command settled has two goroutines do, each directly after an atomic operation, what accesses something without a scheduling
// point of its own.
package main

import (
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	_ "unsafe"
)

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()

var before, pinned atomic.Int32

func main() {
	act := prepare[os.Args[1]]()
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() { act(i) })
	}
	all.Wait()
	if n := before.Load(); n != 2 {
		panic(fmt.Sprint(n, " operations, want 2"))
	}
}

// prepare is what is done before the goroutines begin, and returns what each of them does.
var prepare = map[string]func() func(int){
	"pin": func() func(int) {
		return func(int) {
			before.Add(1)
			procPin()
			pinned.Add(1)
			procUnpin()
		}
	},
	"listen": func() func(int) {
		return func(int) {
			before.Add(1)
			c, err := net.ListenUDP("udp4", nil)
			must(err)
			must(c.Close())
		}
	},
	"bind": func() func(int) {
		return func(int) {
			fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
			must(err)
			before.Add(1)
			must(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
			pinned.Add(1)
			must(syscall.Close(fd))
		}
	},
	"connect": func() func(int) {
		at := &net.UnixAddr{Name: "/tmp/tandem-settled", Net: "unixgram"}
		_, err := net.ListenUnixgram("unixgram", at)
		must(err)
		return func(int) {
			before.Add(1)
			c, err := net.DialUnix("unixgram", nil, at)
			must(err)
			must(c.Close())
		}
	},
	"control": func() func(int) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(err)
		c, err := net.Dial("tcp", l.Addr().String())
		must(err)
		raw, err := c.(*net.TCPConn).SyscallConn()
		must(err)
		return func(int) {
			must(raw.Control(func(fd uintptr) {
				before.Add(1)
				_, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
				must(err)
			}))
		}
	},
	"statfs": func() func(int) {
		f, err := os.Create("/tmp/tandem-settled")
		must(err)
		fd := int(f.Fd())
		return func(int) {
			before.Add(1)
			must(syscall.Fstatfs(fd, new(syscall.Statfs_t)))
		}
	},
	"replace": func() func(int) {
		var files [3]*os.File
		for i := range files {
			f, err := os.Create(fmt.Sprint("/tmp/tandem-settled-", i))
			must(err)
			files[i] = f
		}
		from, to := int(files[2].Fd()), [2]int{int(files[0].Fd()), int(files[1].Fd())}
		return func(i int) {
			must(syscall.Flock(to[i], syscall.LOCK_EX))
			before.Add(1)
			must(syscall.Dup2(from, to[i]))
		}
	},
	// The first to count is the first to write, unless it is preempted in between.
	"order": func() func(int) {
		f, err := os.Create("/tmp/tandem-settled")
		must(err)
		var last int32
		var mu sync.Mutex
		return func(int) {
			n := before.Add(1)
			_, err := f.WriteAt([]byte{byte(n)}, 0)
			must(err)
			mu.Lock()
			defer mu.Unlock()
			if last > n {
				panic("preempted")
			}
			last = n
		}
	},
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
