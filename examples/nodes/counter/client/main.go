// Command client adds 1 to the number of the server. It asks for the number, and then sets it: if
// another client does the same meanwhile, that is lost. With the argument fixed it has the server
// add.
package main

import (
	"net"
	"os"
)

func main() {
	conn, err := net.Dial("tcp", "127.0.0.1:7100")
	if err != nil {
		panic(err)
	}
	ask := func(what, n byte) byte {
		answer := []byte{0}
		if _, err := conn.Write([]byte{what, n}); err != nil {
			panic(err)
		}
		if _, err := conn.Read(answer); err != nil {
			panic(err)
		}
		return answer[0]
	}
	if len(os.Args) > 1 && os.Args[1] == "fixed" {
		ask('a', 1)
	} else {
		ask('s', ask('g', 0)+1)
	}
}
