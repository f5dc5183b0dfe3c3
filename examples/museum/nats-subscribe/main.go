// Command nats-subscribe subscribes to a subject that is not valid, and waits for a message.
package main

import (
	"fmt"
	"log"
	"time"

	"github.com/nats-io/nats.go"
)

func main() {
	conn, err := nats.Connect("nats://127.0.0.1:4222", nats.NoReconnect())
	if err != nil {
		log.Print(err)
		return
	}
	defer conn.Close()
	subscription, err := conn.SubscribeSync("museum..")
	if err != nil {
		log.Print(err)
		return
	}
	_, err = subscription.NextMsg(time.Second)
	fmt.Println(err)
}
