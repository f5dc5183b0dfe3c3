package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
)

// addresses says what a program sees of the addresses of its machine.
func addresses() {
	interfaces, err := net.Interfaces()
	for _, i := range interfaces {
		addresses, err := i.Addrs()
		fmt.Println(i.Name, i.Flags, addresses, err)
	}
	fmt.Println(err)
	for _, at := range []string{"10.0.0.1:7000", "10.0.0.9:7000", "[fd00::1]:7000", "127.0.0.1:7000",
		":7001"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			fmt.Println(at, errors.Is(err, syscall.EADDRNOTAVAIL))
			continue
		}
		go func() {
			c, err := l.Accept()
			if err == nil {
				fmt.Println(at, "accepts", c.LocalAddr(), c.RemoteAddr().(*net.TCPAddr).IP)
				c.Close()
			}
		}()
		if at == ":7001" {
			at = "10.0.0.1:7001"
		}
		c, err := net.Dial("tcp", at)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(at, "from", c.LocalAddr().(*net.TCPAddr).IP)
		c.Read(make([]byte, 1))
	}
	// Others are beyond.
	c, err := net.Dial("tcp", "b:7000")
	fmt.Println(err)
	fmt.Println(c.LocalAddr(), c.RemoteAddr())
	chosen := net.Dialer{LocalAddr: &net.TCPAddr{Port: 5000}}
	c, err = chosen.Dial("tcp", "b:7000")
	fmt.Println(c.LocalAddr(), err)
	l, err := net.Listen("tcp", ":7002")
	fmt.Println(err)
	c, err = l.Accept()
	fmt.Println(c.LocalAddr(), c.RemoteAddr(), err)
	_, err = net.Dial("tcp", "[2001:db8::1]:80")
	fmt.Println(err)
}

// datagrams exchanges some with a node b.
func datagrams() {
	s, err := net.ListenPacket("udp", ":7000")
	fmt.Println(s.LocalAddr(), err)
	b := make([]byte, 100)
	n, from, err := s.ReadFrom(b)
	fmt.Printf("%q %v %v\n", b[:n], from, err)
	s.WriteTo(append([]byte("and "), b[:n]...), from)
	c, err := net.Dial("udp", "b:7000")
	fmt.Println(c.LocalAddr().(*net.UDPAddr).IP, c.RemoteAddr(), err)
	c.Write(nil)
	c.Write([]byte("x"))
	n, err = c.Read(b)
	fmt.Println(n, errors.Is(err, syscall.ECONNREFUSED))
	a, err := net.ListenPacket("udp", "10.0.0.1:0")
	fmt.Println(err)
	a.Close()
	s.ReadFrom(b)
}

// meanwhile takes a connection that comes while a connect of its own waits for an answer.
func meanwhile() {
	l, err := net.Listen("tcp", "10.0.0.1:7000")
	if err != nil {
		panic(err)
	}
	go net.Dial("tcp", "10.0.0.2:7003")
	conn, err := l.Accept()
	if err != nil {
		panic(err)
	}
	data, err := io.ReadAll(conn)
	fmt.Printf("%s %v\n", data, err)
}
