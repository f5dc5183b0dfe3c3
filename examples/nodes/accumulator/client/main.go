// Command client sends numbers to the primary: which ones is a choice.
package main

import (
	"encoding/binary"
	"net"

	"github.com/tandem-mc/tandem"
)

func main() {
	conn, err := net.Dial("tcp", "127.0.0.1:7001")
	if err != nil {
		panic(err)
	}
	numbers := []uint32{1, 2}
	if tandem.Choose(2) == 1 {
		numbers = []uint32{1, 3}
	}
	for _, n := range numbers {
		if err := binary.Write(conn, binary.BigEndian, n); err != nil {
			panic(err)
		}
	}
	conn.Close()
}
