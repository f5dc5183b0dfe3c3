// Mqtt asks itself with github.com/eclipse/paho.mqtt.golang: it subscribes to a topic, and
// publishes a message there. If the broker has that before the subscription, it never comes.
// With -fixed the broker has acknowledged the subscription first.
package main

import (
	"fmt"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"example.com/libraries/flags"
)

func main() {
	fixed := flags.Fixed()
	options := mqtt.NewClientOptions().AddBroker("tcp://127.0.0.1:1883").SetClientID("tandem")
	client := mqtt.NewClient(options.SetKeepAlive(0).SetAutoReconnect(false))
	done(client.Connect())
	heard := make(chan string, 1)
	subscribe := func() {
		done(client.Subscribe("news", 1, func(_ mqtt.Client, m mqtt.Message) {
			heard <- string(m.Payload())
		}))
	}
	if fixed {
		subscribe()
	} else {
		go subscribe()
	}
	done(client.Publish("news", 1, false, "nothing new"))
	fmt.Println(<-heard)
}

func done(t mqtt.Token) {
	if t.Wait(); t.Error() != nil {
		panic(t.Error())
	}
}
