// Package netlink makes requests of the kernel by netlink(7): attributes, and exchanges whose only
// answer is an acknowledgement.
package netlink

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// AppendAttribute appends a netlink attribute whose value is a multiple of 4 bytes long.
func AppendAttribute(b []byte, kind uint16, value []byte) []byte {
	b = binary.NativeEndian.AppendUint16(b, uint16(4+len(value)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	return append(b, value...)
}

// Route sends one request to the kernel's routing, which rtnetlink(7) describes, and waits for its
// outcome. It is about the network of the calling thread.
func Route(kind, flags uint16, body []byte) error {
	m := binary.NativeEndian.AppendUint32(nil, uint32(unix.NLMSG_HDRLEN+len(body)))
	m = binary.NativeEndian.AppendUint16(m, kind)
	m = binary.NativeEndian.AppendUint16(m, flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	m = append(m, make([]byte, 8)...) // sequence number and port, which the kernel fills
	return Exchange(unix.NETLINK_ROUTE, append(m, body...), 1)
}

// Exchange sends requests to a part of the kernel and waits for the outcomes of so many of them.
// The error is a unix.Errno where it is the kernel's.
func Exchange(protocol int, requests []byte, count int) error {
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	if err := unix.Sendto(s, requests, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	// An acknowledgement has the number of the error, negative, and then the request that it is of.
	answer := make([]byte, 16<<10)
	for range count {
		n, err := unix.Read(s, answer)
		if err != nil {
			return err
		}
		if n < unix.NLMSG_HDRLEN+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
			return fmt.Errorf("an answer of %d bytes that is no acknowledgement", n)
		}
		if errno := -int32(binary.NativeEndian.Uint32(answer[unix.NLMSG_HDRLEN:])); errno != 0 {
			return unix.Errno(errno)
		}
	}
	return nil
}

// Nested is an attribute whose value are other ones.
func Nested(kind uint16, value []byte) []byte { return Attribute(kind|unix.NLA_F_NESTED, value) }

// Attribute is a netlink attribute: its length, its kind and its value, filled up to a multiple of
// 4 bytes. The length does not count what it is filled up with.
func Attribute(kind uint16, value []byte) []byte {
	b := AppendAttribute(nil, kind, value)
	return append(b, make([]byte, -len(b)&3)...)
}
