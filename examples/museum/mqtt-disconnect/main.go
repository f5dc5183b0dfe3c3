// Command mqtt-disconnect connects to a broker of MQTT, and disconnects.
package main

import (
	"log"

	mqtt "github.com/eclipse/paho.mqtt.golang"
)

func main() {
	options := mqtt.NewClientOptions().AddBroker("tcp://127.0.0.1:1883").SetClientID("museum")
	options.SetAutoReconnect(false)
	client := mqtt.NewClient(options)
	if token := client.Connect(); token.Wait() && token.Error() != nil {
		log.Print(token.Error())
		return
	}
	client.Disconnect(250)
}
