module example.com/museum/nats-subscribe

go 1.26

require github.com/nats-io/nats.go v1.8.1

require (
	github.com/nats-io/nkeys v0.0.2 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	golang.org/x/crypto v0.0.0-20181203042331-505ab145d0a9 // indirect
)
