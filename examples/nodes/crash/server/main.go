// Command server keeps a byte in a file. A client sends another one to have it stored, or 0 to get
// it.
package main

import (
	"flag"
	"io"
	"net"
	"os"
	"path/filepath"
)

var path = filepath.Join(os.TempDir(), "value")

func main() {
	sync := flag.Bool("sync", false, "acknowledge a value once it is durable")
	flag.Parse()
	l, err := net.Listen("tcp", "127.0.0.1:7800")
	if err != nil {
		panic(err)
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			panic(err)
		}
		serve(conn, *sync)
		conn.Close()
	}
}

// serve answers one request.
func serve(conn net.Conn, sync bool) {
	request := make([]byte, 1)
	if _, err := io.ReadFull(conn, request); err != nil {
		return
	}
	if request[0] == 0 {
		conn.Write(load())
		return
	}
	store(request, sync)
	conn.Write([]byte{'y'})
}

// load returns the value that was stored last, or 0.
func load() []byte {
	value, err := os.ReadFile(path)
	if err != nil {
		return []byte{0}
	}
	return value
}

// store replaces the value as a whole: a crash leaves the old one or the new one.
func store(value []byte, sync bool) {
	f, err := os.Create(path + ".new")
	if err != nil {
		panic(err)
	}
	if _, err := f.Write(value); err != nil {
		panic(err)
	}
	// Without this, the new name may be durable, and what is in the file is not.
	if err := f.Sync(); err != nil {
		panic(err)
	}
	f.Close()
	if err := os.Rename(path+".new", path); err != nil {
		panic(err)
	}
	if !sync {
		return
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		panic(err)
	}
	if err := dir.Sync(); err != nil {
		panic(err)
	}
	dir.Close()
}
