// Command server takes one order over QUIC, with quic-go, and publishes whether it came.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"

	"github.com/quic-go/quic-go"

	"github.com/tandem-mc/tandem"
)

func main() {
	l, err := quic.ListenAddr("127.0.0.1:7600", config(), nil)
	if err != nil {
		log.Fatal(err)
	}
	c, err := l.Accept(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	s, err := c.AcceptStream(context.Background())
	if err == nil {
		_, err = io.ReadAll(s)
	}
	if err != nil {
		tandem.Publish("order", "lost")
		return
	}
	tandem.Publish("order", "done")
	s.Write([]byte("done"))
	s.Close()
	<-c.Context().Done() // the client closes the connection
}

// config has a certificate that was made for this run.
func config() *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	own := x509.Certificate{SerialNumber: big.NewInt(1)}
	certificate, err := x509.CreateCertificate(rand.Reader, &own, &own, &key.PublicKey, key)
	if err != nil {
		log.Fatal(err)
	}
	return &tls.Config{NextProtos: []string{"orders"},
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}}
}
