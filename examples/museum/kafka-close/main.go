// Command kafka-close writes a message to Kafka, and closes the writer meanwhile.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/apiversions"
	"github.com/segmentio/kafka-go/protocol/metadata"
	"github.com/segmentio/kafka-go/protocol/produce"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:9092")
	if err != nil {
		log.Fatal(err)
	}
	go serve(listener)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	writer := &kafka.Writer{
		Addr:      kafka.TCP(listener.Addr().String()),
		Topic:     "museum",
		Transport: &kafka.Transport{Context: ctx},
	}
	go func() {
		err := writer.WriteMessages(context.Background(), kafka.Message{Value: []byte("hello")})
		fmt.Println(err)
	}()
	fmt.Println(writer.Close())
}

// serve is what this program needs of a broker.
func serve(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go answer(conn)
	}
}

// answer answers the requests of a connection.
func answer(conn net.Conn) {
	for {
		version, id, _, request, err := protocol.ReadRequest(conn)
		if err != nil {
			return
		}
		var response protocol.Message
		switch request.(type) {
		case *apiversions.Request:
			response = &apiversions.Response{ApiKeys: []apiversions.ApiKeyResponse{
				{ApiKey: int16(protocol.Produce), MaxVersion: 7},
				{ApiKey: int16(protocol.Metadata), MaxVersion: 6},
			}}
		case *metadata.Request:
			response = &metadata.Response{
				Brokers: []metadata.ResponseBroker{{Host: "127.0.0.1", Port: 9092}},
				Topics: []metadata.ResponseTopic{{
					Name: "museum", Partitions: []metadata.ResponsePartition{{}},
				}},
			}
		case *produce.Request:
			response = &produce.Response{Topics: []produce.ResponseTopic{{
				Topic: "museum", Partitions: []produce.ResponsePartition{{}},
			}}}
		}
		protocol.WriteResponse(conn, version, id, response)
	}
}
