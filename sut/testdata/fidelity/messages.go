package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

func udp(address string) {
	a := must(net.ListenPacket("udp", address))
	b := must(net.ListenPacket("udp", address))
	n, err := a.WriteTo([]byte("first"), b.LocalAddr())
	say("udp write", n, err)
	a.WriteTo([]byte("second, longer"), b.LocalAddr())
	a.WriteTo(nil, b.LocalAddr())
	p := make([]byte, 6)
	for range 3 {
		n, from, err := b.ReadFrom(p)
		say("udp read", n, string(p[:n]), from.String() == a.LocalAddr().String(), err)
	}
	b.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, _, err = b.ReadFrom(p)
	say("udp deadline", err, os.IsTimeout(err))
	_, err = a.WriteTo(make([]byte, 70_000), b.LocalAddr())
	say("udp too long", err)

	c := must(net.Dial("udp", b.LocalAddr().String()))
	c.Write([]byte("connected"))
	b.SetReadDeadline(time.Time{})
	n, from, err := b.ReadFrom(p)
	say("udp from connected", n, from.String() == c.LocalAddr().String(), err)
	a.WriteTo([]byte("stranger"), c.LocalAddr())
	b.WriteTo([]byte("friend"), c.LocalAddr())
	n, err = c.Read(p)
	say("udp filter", string(p[:n]), err)
	_, err = c.(*net.UDPConn).WriteTo([]byte("x"), b.LocalAddr())
	say("udp write to while connected", err)
	b.Close()
	n, err = c.Write([]byte("nobody"))
	say("udp to nobody", n, err)
	_, err = c.Read(p)
	say("udp refused", err)
	n, err = c.Write([]byte("nobody"))
	say("udp to nobody again", n, err)
	_, err = c.Write([]byte("nobody"))
	say("udp refused again", err)
	say("udp close", c.Close(), a.Close())
	_, err = a.WriteTo([]byte("x"), c.RemoteAddr())
	say("udp closed", err)

	m := must(net.ListenUDP("udp", must(net.ResolveUDPAddr("udp", address))))
	m.WriteToUDP([]byte("message"), m.LocalAddr().(*net.UDPAddr))
	n, oobn, flags, _, err := m.ReadMsgUDP(p[:3], make([]byte, 64))
	say("udp message", string(p[:n]), oobn, flags, err)
	m.Close()
}

// control sends datagrams with control messages, as QUIC does.
func control(network, address string, level, kind int) {
	a := must(net.ListenUDP(network, must(net.ResolveUDPAddr(network, address))))
	b := must(net.ListenUDP(network, must(net.ResolveUDPAddr(network, address))))
	to := b.LocalAddr().(*net.UDPAddr)
	mark := message(level, kind, []byte{2, 0, 0, 0})
	segments := func(n byte) []byte { return message(17, 103, []byte{n, 0}) } // UDP_SEGMENT
	n, oobn, err := a.WriteMsgUDP([]byte("marked"), mark, to)
	say("marked", n, oobn, err)
	n, _, err = a.WriteMsgUDP([]byte("in three parts"), append(segments(5), mark...), to)
	say("parts", n, err)
	n, _, err = a.WriteMsgUDP([]byte("one"), segments(5), to)
	say("one part", n, err)
	_, _, err = a.WriteMsgUDP(make([]byte, 65), segments(0), to)
	say("not cut", err)
	_, _, err = a.WriteMsgUDP(make([]byte, 1000), segments(1), to)
	say("too many parts", err)
	p := make([]byte, 100)
	for range 6 {
		n, oobn, _, _, err := b.ReadMsgUDP(p, make([]byte, 100))
		say("part", n, strings.Trim(string(p[:n]), "\x00"), oobn, err)
	}
	_, _, err = a.WriteMsgUDP([]byte("x"), mark[:10], to)
	say("cut control message", err)
	mark[0] = 100
	_, _, err = a.WriteMsgUDP([]byte("x"), mark, to)
	say("long control message", err)
	say("closed", a.Close(), b.Close())
}

// message is a control message.
func message(level, kind int, data []byte) []byte {
	b := make([]byte, syscall.CmsgSpace(len(data)))
	h := (*syscall.Cmsghdr)(unsafe.Pointer(&b[0]))
	h.Level, h.Type = int32(level), int32(kind)
	h.SetLen(syscall.CmsgLen(len(data)))
	copy(b[syscall.CmsgLen(0):], data)
	return b
}

func unix(dir string) {
	name := filepath.Join(dir, "socket")
	l := must(net.Listen("unix", name))
	_, err := net.Listen("unix", name)
	say("unix in use", err)
	info, err := os.Stat(name)
	say("unix file", info.Mode().Type(), err)
	c := must(net.Dial("unix", name))
	s := must(l.Accept())
	say("unix addresses", strings.TrimPrefix(c.RemoteAddr().String(), dir), c.LocalAddr(), s.RemoteAddr(), strings.TrimPrefix(s.LocalAddr().String(), dir))
	c.Write([]byte("unread"))
	s.Close()
	p := make([]byte, 10)
	n, err := c.Read(p)
	say("unix reset", n, err)
	n, err = c.Read(p)
	say("unix after reset", n, err)
	_, err = c.Write(p)
	say("unix write to closed", err)
	l.Close()
	_, err = os.Stat(name)
	say("unix unlinked", os.IsNotExist(err))
	_, err = net.Dial("unix", name)
	say("unix gone", err)

	l = must(net.Listen("unix", name))
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	_, err = net.Dial("unix", name)
	say("unix stale", err)
	_, err = net.Listen("unix", name)
	say("unix stale in use", err)
	say("unix remove", os.Remove(name))

	l, err = net.Listen("unix", "@fidelity")
	say("abstract", l.Addr(), err)
	c, err = net.Dial("unix", "@fidelity")
	say("abstract dial", c.RemoteAddr(), err)
	l.Close()
	_, err = net.Dial("unix", "@fidelity")
	say("abstract gone", err)
}

func unixMessages(dir string) {
	address := func(network, name string) *net.UnixAddr {
		return &net.UnixAddr{Name: filepath.Join(dir, name), Net: network}
	}
	a := must(net.ListenUnixgram("unixgram", address("unixgram", "a")))
	b := must(net.ListenUnixgram("unixgram", address("unixgram", "b")))
	n, err := a.WriteTo([]byte("datagram"), b.LocalAddr())
	say("unixgram write", n, err)
	p := make([]byte, 100)
	n, from, err := b.ReadFrom(p)
	say("unixgram read", string(p[:n]), from.String() == a.LocalAddr().String(), err)
	c := must(net.DialUnix("unixgram", nil, address("unixgram", "b")))
	c.Write([]byte("nameless"))
	n, _, err = b.ReadFrom(p)
	say("unixgram nameless", string(p[:n]), err)
	b.Close()
	_, err = c.Write([]byte("x"))
	say("unixgram to closed", err)
	a.Close()

	l := must(net.ListenUnix("unixpacket", address("unixpacket", "p")))
	d := must(net.DialUnix("unixpacket", nil, address("unixpacket", "p")))
	s := must(l.AcceptUnix())
	d.Write([]byte("one"))
	d.Write([]byte("two, longer"))
	n, err = s.Read(p)
	say("unixpacket", string(p[:n]), err)
	n, err = s.Read(p[:3])
	say("unixpacket cut", string(p[:n]), err)
	d.Close()
	n, err = s.Read(p)
	say("unixpacket end", n, err)
	_, err = s.Write(p)
	say("unixpacket write to closed", err)
	_, err = net.DialUnix("unix", nil, address("unix", "p"))
	say("unix of another kind", err)
	l.Close()
}
