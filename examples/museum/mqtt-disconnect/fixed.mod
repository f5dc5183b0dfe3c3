module example.com/museum/mqtt-disconnect

go 1.26

require github.com/eclipse/paho.mqtt.golang v1.3.4

require (
	github.com/gorilla/websocket v1.4.2 // indirect
	golang.org/x/net v0.0.0-20200425230154-ff2c4b7c35a0 // indirect
)
