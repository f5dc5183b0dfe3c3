// Backup keeps what the store of its site has. The entries of each writer have to come in their
// order.
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
)

func main() {
	listen := flag.String("listen", "", "where the store sends its entries")
	flag.Parse()
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		panic(err)
	}
	conn, err := listener.Accept()
	if err != nil {
		panic(err)
	}
	last := map[byte]byte{}
	for {
		entry := make([]byte, 2)
		if _, err := io.ReadFull(conn, entry); err == io.EOF {
			break
		} else if err != nil {
			panic(err)
		}
		if writer, number := entry[0], entry[1]-'0'; number == last[writer]+1 {
			last[writer] = number
		} else {
			panic(fmt.Sprintf("writer %c: entry %d after %d", writer, number, last[writer]))
		}
	}
	if last['a'] != 2 || last['b'] != 2 {
		panic("entries are missing")
	}
	conn.Close()
}
