// Command nsq-stop is a consumer of NSQ that is told to stop while it connects.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"log"
	"net"
	"strings"

	"github.com/nsqio/go-nsq"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:4150")
	if err != nil {
		log.Fatal(err)
	}
	go serve(listener)
	consumer, err := nsq.NewConsumer("museum", "visitors", nsq.NewConfig())
	if err != nil {
		log.Fatal(err)
	}
	consumer.SetLoggerLevel(nsq.LogLevelError)
	consumer.AddHandler(nsq.HandlerFunc(func(m *nsq.Message) error {
		fmt.Printf("%s\n", m.Body)
		return nil
	}))
	go consumer.Stop()
	fmt.Println(consumer.ConnectToNSQD(listener.Addr().String()))
	<-consumer.StopChan
}

// serve is what this program needs of an nsqd: it has one message for one consumer.
func serve(listener net.Listener) {
	conn, err := listener.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	requests := bufio.NewReader(conn)
	requests.Discard(len("  V2"))
	for {
		request, err := requests.ReadString('\n')
		if err != nil {
			return
		}
		switch name, _, _ := strings.Cut(strings.TrimSpace(request), " "); name {
		case "IDENTIFY":
			var size int32
			binary.Read(requests, binary.BigEndian, &size)
			requests.Discard(int(size))
			send(conn, nsq.FrameTypeResponse, "OK")
		case "SUB":
			send(conn, nsq.FrameTypeResponse, "OK")
		case "RDY":
			// A time of 8 bytes, and 2 of attempts, come before the message and its name.
			send(conn, nsq.FrameTypeMessage, strings.Repeat("\x00", 8+2)+"0123456789abcdef"+"hello")
		case "CLS":
			send(conn, nsq.FrameTypeResponse, "CLOSE_WAIT")
		}
	}
}

// send sends a frame to the consumer.
func send(conn net.Conn, kind int32, data string) {
	frame := binary.BigEndian.AppendUint32(nil, uint32(4+len(data)))
	frame = binary.BigEndian.AppendUint32(frame, uint32(kind))
	conn.Write(append(frame, data...))
}
