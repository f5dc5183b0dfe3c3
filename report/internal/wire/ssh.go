package wire

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// sshStream decodes one direction of an SSH connection up to NEWKEYS: the identification string
// (RFC 4253, section 4.2) and the binary packets (section 6). What follows is encrypted. Only the
// headers of packets are kept, so its size does not depend on what it is fed with.
type sshStream struct {
	phase      sshPhase
	ident      []byte // the identification string so far, at most maxIdent bytes
	identBytes int
	// header is that of the current packet, of which headerLen bytes have come.
	header    [sshHeader]byte
	headerLen int
	missing   int // bytes of the current packet after its header
}

// sshPhase is what comes next on the connection.
type sshPhase uint8

// The phases, in the order of a connection.
const (
	identification sshPhase = iota
	packets
	encrypted
	undecodable
)

// Sizes, in bytes.
const (
	sshHeader = 6 // length (4), padding length (1), message number (1)
	maxIdent  = 255
	// maxPacket is what common implementations accept; RFC 4253, section 6.1 asks for 35000 bytes.
	maxPacket = 256 << 10
)

// feed describes each packet that ends in the data, and what there is of the next one.
func (s *sshStream) feed(data []byte) []string {
	var lines []string
	for len(data) > 0 {
		var line string
		switch s.phase {
		case identification:
			line, data = s.feedIdentification(data)
		case packets:
			line, data = s.feedPacket(data)
		case encrypted:
			line, data = "encrypted packets, "+textutil.CountOf(len(data), "byte"), nil
		case undecodable:
			line, data = "no SSH packet: "+raw{}.line(data), nil
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// clone implements decoder.
func (s *sshStream) clone(*httpExchange) decoder {
	c := *s
	c.ident = slices.Clone(s.ident)
	return &c
}

// feedIdentification takes data up to the end of the identification string. The end is a line feed;
// the carriage return before it may be missing, since old implementations leave it out. Without an
// end within maxIdent bytes the stream is given up.
func (s *sshStream) feedIdentification(data []byte) (line string, rest []byte) {
	for i, b := range data {
		s.identBytes++
		if b == '\n' {
			s.phase = packets
			return "identification " + words.Printable(string(s.ident)), data[i+1:]
		}
		if b != '\r' && len(s.ident) < maxIdent {
			s.ident = append(s.ident, b)
		}
		if s.identBytes > maxIdent {
			s.phase = undecodable
			return "identification without an end, " + textutil.CountOf(s.identBytes, "byte"), data[i+1:]
		}
	}
	return "part of the identification, " + textutil.CountOf(len(data), "byte"), nil
}

// feedPacket takes data up to the end of a packet. Its header, which says how long it is, may come
// in pieces. A length that no implementation accepts, or one that is too small for the padding,
// shows that the decoder has lost the bounds of the packets. It cannot find them again, so it gives
// up.
func (s *sshStream) feedPacket(data []byte) (line string, rest []byte) {
	if s.headerLen < sshHeader {
		n := copy(s.header[s.headerLen:], data)
		s.headerLen += n
		if s.headerLen < sshHeader {
			return "part of a packet, " + textutil.CountOf(n, "byte"), nil
		}
		length := binary.BigEndian.Uint32(s.header[:])
		padding := uint32(s.header[4])
		if length > maxPacket || length < padding+2 {
			s.phase = undecodable
			return fmt.Sprintf("no SSH packet: length %d, padding %d", length, padding), data[n:]
		}
		s.missing = int(length) - 2 // the padding length and the message number have been read
		data = data[n:]
	}
	if len(data) < s.missing {
		s.missing -= len(data)
		return fmt.Sprintf("part of %s, %s missing", s.name(), textutil.CountOf(s.missing, "byte")), nil
	}
	rest = data[s.missing:]
	return s.endPacket(), rest
}

// endPacket describes the packet whose last byte has come and gets ready for the next. After
// NEWKEYS each direction is encrypted on its own: the other one may still be readable.
func (s *sshStream) endPacket() string {
	line := s.name() + ", " + textutil.CountOf(int(binary.BigEndian.Uint32(s.header[:]))+4, "byte")
	if s.header[5] == newKeys {
		s.phase = encrypted
	}
	s.headerLen, s.missing = 0, 0
	return line
}

// newKeys is the last message before encryption.
const newKeys = 21

// sshMessages are the message numbers that can come before NEWKEYS: RFC 4250, section 4.1, RFC
// 8308, RFC 5656 (elliptic curve, also hybrid, key exchange) and RFC 4419 (group exchange).
var sshMessages = map[byte]string{
	1: "DISCONNECT", 2: "IGNORE", 3: "UNIMPLEMENTED", 4: "DEBUG",
	5: "SERVICE_REQUEST", 6: "SERVICE_ACCEPT", 7: "EXT_INFO",
	20: "KEXINIT", newKeys: "NEWKEYS", 30: "KEX_ECDH_INIT", 31: "KEX_ECDH_REPLY",
	32: "KEX_DH_GEX_INIT", 33: "KEX_DH_GEX_REPLY", 34: "KEX_DH_GEX_REQUEST",
}

// name is what the current message is called.
func (s *sshStream) name() string {
	if name, ok := sshMessages[s.header[5]]; ok {
		return name
	}
	return fmt.Sprintf("message number %d", s.header[5])
}
