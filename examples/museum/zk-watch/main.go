// Command zk-watch watches a node of ZooKeeper over a connection that is lost.
package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net"
	"time"

	"github.com/go-zookeeper/zk"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:2181")
	if err != nil {
		log.Fatal(err)
	}
	go serve(listener)
	conn, _, err := zk.Connect([]string{listener.Addr().String()}, time.Minute)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	exists, _, _, err := conn.ExistsW("/museum")
	fmt.Println(exists, err)
	exists, _, err = conn.Exists("/visitors")
	fmt.Println(exists, err)
}

// serve is what this program needs of a ZooKeeper. It drops the first connection after one request.
func serve(listener net.Listener) {
	for requests := 1; ; requests = 100 {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		if read(conn) != nil {
			session := make([]byte, 4+4+8+4+16)
			binary.BigEndian.PutUint32(session[4:], 60000) // the time-out
			binary.BigEndian.PutUint64(session[8:], 1)     // the number of the session
			binary.BigEndian.PutUint32(session[16:], 16)   // the length of the password
			write(conn, session)
		}
		for zxid := range requests {
			request := read(conn)
			if request == nil {
				break
			}
			answer := make([]byte, 4+8+4)
			copy(answer, request[:4])
			binary.BigEndian.PutUint64(answer[4:], uint64(1+zxid))
			if operation := binary.BigEndian.Uint32(request[4:]); operation == 3 {
				noNode := int32(-101)
				binary.BigEndian.PutUint32(answer[12:], uint32(noNode))
			}
			write(conn, answer)
		}
		conn.Close()
	}
}

// read returns the next packet, or nil at the end.
func read(conn net.Conn) []byte {
	var size uint32
	if binary.Read(conn, binary.BigEndian, &size) != nil {
		return nil
	}
	packet := make([]byte, size)
	if _, err := io.ReadFull(conn, packet); err != nil {
		return nil
	}
	return packet
}

// write sends a packet.
func write(conn net.Conn, packet []byte) {
	conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(packet))), packet...))
}
