package main

import (
	"net"
	"strings"
	"sync"
)

// together runs the scripts of several nodes in one program. All listen before any of them begins,
// as nodes count as if they did. A script is
//
//	serve N STEPS... NOT     accepts N connections, and has a goroutine for each do the steps
//	dial STEPS... NOT        connects to the server, and does the steps
//
// A step is a write of a letter, or a read of up to some bytes: wx, r1, r9. In the end, all that was
// read must not be NOT. Errors of connections are no failures: they end a read, or lose a write.
func together(scripts [][]string) {
	l, err := net.Listen("tcp", "127.0.0.1:7300")
	if err != nil {
		panic(err)
	}
	var all sync.WaitGroup
	for _, script := range scripts {
		all.Go(func() { node(l, script) })
	}
	all.Wait()
}

// node does one script. Without a listener it listens itself, if it serves.
func node(l net.Listener, script []string) {
	var conns []net.Conn
	var err error
	steps := script[1 : len(script)-1]
	if script[0] == "serve" {
		if l == nil {
			if l, err = net.Listen("tcp", "127.0.0.1:7300"); err != nil {
				panic(err)
			}
		}
		for range script[1] {
			conn, err := l.Accept()
			if err != nil {
				panic(err)
			}
			conns = append(conns, conn)
		}
		steps = steps[1:]
	} else {
		conn, err := net.Dial("tcp", "127.0.0.1:7300")
		if err != nil {
			panic(err)
		}
		conns = append(conns, conn)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	var got strings.Builder
	for _, conn := range conns {
		all.Go(func() {
			for _, step := range steps {
				if step[0] == 'w' {
					conn.Write([]byte(step[1:]))
					continue
				}
				b := make([]byte, step[1]-'0')
				n, _ := conn.Read(b)
				mu.Lock()
				got.Write(b[:n])
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if got.String() == script[len(script)-1] {
		panic("read " + got.String())
	}
	for _, conn := range conns {
		conn.Close()
	}
}
