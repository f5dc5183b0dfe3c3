// Command mqtt-resume publishes a message, with a client that connects again by itself.
package main

import (
	"log"

	mqtt "github.com/eclipse/paho.mqtt.golang"
)

func main() {
	options := mqtt.NewClientOptions().AddBroker("tcp://127.0.0.1:1883").SetClientID("museum")
	client := mqtt.NewClient(options.SetAutoReconnect(true))
	if token := client.Connect(); token.Wait() && token.Error() != nil {
		log.Print(token.Error())
		return
	}
	client.Publish("museum", 1, false, "hello").Wait()
	client.Disconnect(250)
}
