// Disconnect publishes some messages to itself with github.com/eclipse/paho.mqtt.golang 1.3.4,
// whose connection may be lost meanwhile. What came in could then wait for what is to go out, and
// that for somebody who takes note of the error, who was busy with what came in: Disconnect never
// returned (eclipse/paho.mqtt.golang#509). With fixed.mod it is version 1.3.5, where that is
// mended.
package main

import (
	"fmt"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
)

const messages = 10

func main() {
	client := mqtt.NewClient(mqtt.NewClientOptions().AddBroker("tcp://127.0.0.1:1883").SetClientID("tandem").
		SetKeepAlive(0).SetAutoReconnect(false).SetConnectTimeout(time.Second))
	if failed(client.Connect()) || failed(client.Subscribe("news", 1, func(mqtt.Client, mqtt.Message) {})) {
		return
	}
	var sent []mqtt.Token
	for i := range messages {
		sent = append(sent, client.Publish("news", 1, false, fmt.Sprint(i)))
	}
	for _, t := range sent {
		failed(t)
	}
	client.Disconnect(250)
}

// failed waits for what was asked for, but not for ever, and reports whether it went wrong.
func failed(t mqtt.Token) bool { return !t.WaitTimeout(time.Minute) || t.Error() != nil }
