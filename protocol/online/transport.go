package online

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// Transport carries datagrams between the nodes of one system. A datagram arrives once, later, or
// never. It is used by several goroutines at a time.
type Transport interface {
	// Send sends to a node. What is lost on the way is no error. The bytes are not kept.
	Send(from, to int, datagram []byte) error
	// Receive waits for the next datagram to a node, which it copies into the buffer. It returns
	// an error once the transport is closed.
	Receive(node int, buffer []byte) (n int, err error)
	// Close ends all calls of Receive.
	Close() error
}

// MaxDatagram is how many bytes a datagram has at most: what fits into one of UDP over IPv4.
const MaxDatagram = 65_507

// errClosed is what Receive returns after Close.
var errClosed = errors.New("the transport is closed")

// udp has a socket for each node.
type udp struct {
	sockets   []*net.UDPConn
	addresses []netip.AddrPort
}

// ListenUDP opens a socket for each of some addresses, such as "127.0.0.1:7000". The port 0 is any
// that is free. An address that is taken is an error that names it. Only datagrams from one of the
// sockets are received.
func ListenUDP(addresses ...string) (Transport, error) {
	u := &udp{}
	for node, text := range addresses {
		address, err := net.ResolveUDPAddr("udp", text)
		if err == nil {
			var socket *net.UDPConn
			if socket, err = net.ListenUDP("udp", address); err == nil {
				u.sockets = append(u.sockets, socket)
				u.addresses = append(u.addresses, socket.LocalAddr().(*net.UDPAddr).AddrPort())
			}
		}
		// The sockets that are open already are of no use to anybody.
		if err != nil {
			return nil, errors.Join(fmt.Errorf("node %d cannot listen at %s: %w; choose another address, "+
				"or port 0", node, text, err), u.Close())
		}
	}
	return u, nil
}

func (u *udp) Send(from, to int, datagram []byte) error {
	_, err := u.sockets[from].WriteToUDPAddrPort(datagram, u.addresses[to])
	return err
}

func (u *udp) Receive(node int, buffer []byte) (int, error) {
	for {
		n, from, err := u.sockets[node].ReadFromUDPAddrPort(buffer)
		if err != nil {
			return 0, err
		}
		// Any program of the machine may send to the port.
		for _, known := range u.addresses {
			if known.Port() == from.Port() && known.Addr().Unmap() == from.Addr().Unmap() {
				return n, nil
			}
		}
	}
}

func (u *udp) Close() (err error) {
	for _, socket := range u.sockets {
		err = errors.Join(err, socket.Close())
	}
	return err
}

// memory has a queue for each node.
type memory struct {
	queues []chan []byte
	closed context.Context
	close  context.CancelFunc
}

// InMemory returns a transport without a network, for tests. A datagram that finds 256 others
// before it is lost.
func InMemory(nodes int) Transport {
	m := &memory{}
	m.closed, m.close = context.WithCancel(context.Background())
	for range nodes {
		m.queues = append(m.queues, make(chan []byte, 256))
	}
	return m
}

func (m *memory) Send(_, to int, datagram []byte) error {
	select {
	case m.queues[to] <- append([]byte{}, datagram...):
	default: // lost
	}
	return nil
}

func (m *memory) Receive(node int, buffer []byte) (int, error) {
	select {
	case datagram := <-m.queues[node]:
		return copy(buffer, datagram), nil
	case <-m.closed.Done():
		return 0, errClosed
	}
}

func (m *memory) Close() error {
	m.close()
	return nil
}
