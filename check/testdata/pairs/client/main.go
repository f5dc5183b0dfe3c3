// Command client is one half of a generated pair: each argument is what one of its goroutines does over
// a connection of its own. A small letter is sent as a line, and the line that comes back is read; a capital
// one is sent, and nothing is read; ! ends the stream to the server; + notes in one list of all goroutines
// what was read last. In the end it prints what each has read, and the list.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"sync"
)

func main() {
	var clients sync.WaitGroup
	var mu sync.Mutex
	order := ""
	read := make([]string, len(os.Args)-1)
	for i, script := range os.Args[1:] {
		clients.Go(func() {
			read[i] = talk(script, func(last string) {
				mu.Lock()
				defer mu.Unlock()
				order += fmt.Sprintf("%d%s ", i, last)
			})
		})
	}
	clients.Wait()
	fmt.Printf("%q %s\n", read, order)
}

// talk follows a script, and returns what was read.
func talk(script string, note func(string)) (read string) {
	conn, err := net.Dial("tcp", "127.0.0.1:7000")
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	lines, last := bufio.NewReader(conn), ""
	for _, op := range []byte(script) {
		switch {
		case op == '!':
			conn.(*net.TCPConn).CloseWrite()
		case op == '+':
			note(last)
		default:
			if _, err := conn.Write([]byte{op | 0x20, '\n'}); err != nil {
				return read + "no write"
			}
			if op < 'a' {
				continue
			}
			line, err := lines.ReadString('\n')
			if read += line; err != nil {
				return read + err.Error()
			}
			last = line[:len(line)-1]
		}
	}
	return read
}
