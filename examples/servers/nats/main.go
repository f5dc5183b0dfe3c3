// Nats tells a subscriber something with github.com/nats-io/nats.go: the server may get the
// message before it gets the subscription, on another connection, and nobody hears it. With
// -fixed the subscriber waits until the server has that.
package main

import (
	"log"
	"time"

	"github.com/nats-io/nats.go"

	"example.com/servers/flags"
)

func main() {
	fixed := flags.Fixed()
	subscriber, err := nats.Connect("nats://127.0.0.1:4222")
	if err != nil {
		log.Fatal(err)
	}
	defer subscriber.Close()
	publisher, err := nats.Connect("nats://127.0.0.1:4222")
	if err != nil {
		log.Fatal(err)
	}
	defer publisher.Close()
	news, err := subscriber.SubscribeSync("news")
	if err != nil {
		log.Fatal(err)
	}
	if fixed {
		if err := subscriber.Flush(); err != nil {
			log.Fatal(err)
		}
	}
	if err := publisher.Publish("news", []byte("hello")); err != nil {
		log.Fatal(err)
	}
	if message, err := news.NextMsg(time.Minute); err != nil || string(message.Data) != "hello" {
		log.Fatal("nothing was heard: ", err)
	}
}
