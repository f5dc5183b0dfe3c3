module example.com/museum/nats-subscribe

go 1.26

require github.com/nats-io/nats.go v1.7.2

require (
	github.com/nats-io/go-nats v1.7.2 // indirect
	github.com/nats-io/nkeys v0.1.0 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	golang.org/x/crypto v0.0.0-20190701094942-4def268fd1a4 // indirect
)
