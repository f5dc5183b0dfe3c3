package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// script runs a goroutine for each text. A text has two characters for each
// operation: what to do, and with which of the connections 0 and 1 or sockets 2 and 3.
// At the end it prints what each goroutine saw.
func script(texts []string) {
	var conns scriptConns
	l := must(net.Listen("tcp", "127.0.0.1:7000"))
	for i := range conns.client {
		conns.client[i] = must(net.Dial("tcp", "127.0.0.1:7000")).(*net.TCPConn)
		conns.server[i] = must(l.Accept()).(*net.TCPConn)
		conns.packet[i] = must(net.ListenPacket("udp", fmt.Sprint("127.0.0.1:", 7002+i)))
	}
	saw := make([]string, len(texts))
	var wait sync.WaitGroup
	for i, text := range texts {
		wait.Go(func() {
			for j := 0; j < len(text); j += 2 {
				saw[i] += conns.do(text[j], int(text[j+1]-'0'), byte('a'+i)) + ","
			}
		})
	}
	wait.Wait()
	fmt.Print(saw)
}

type scriptConns struct {
	client, server [2]*net.TCPConn
	packet         [2]net.PacketConn
}

func (c *scriptConns) do(what byte, i int, name byte) string {
	var err error
	b := []byte{name}
	n := 0
	switch what {
	case 'w':
		_, err = c.client[i].Write(b)
	case 'r':
		n, err = c.server[i].Read(b)
	case 'c':
		err = c.client[i].Close()
	case 'C':
		err = c.server[i].Close()
	case 'h':
		err = c.client[i].CloseWrite()
	case 'd':
		err = c.server[i].SetReadDeadline(time.Unix(1, 0))
	case 's':
		_, err = c.packet[1-i].WriteTo(b, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7002 + i})
	case 'g':
		n, _, err = c.packet[i].ReadFrom(b)
	case 'x':
		err = c.packet[i].Close()
	}
	switch {
	case err == io.EOF:
		return "EOF"
	case os.IsTimeout(err):
		return "late"
	case err != nil:
		return "error"
	}
	return string(b[:n])
}
