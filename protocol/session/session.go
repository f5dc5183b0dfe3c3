// Package session connects a process that checks a model with the one that has started it, if
// several processes check the model together. It is for whoever starts such processes: tandem
// protocol and tandem worker do. Programs and tests that check models need nothing of it.
//
// The process finds a socket in its environment. What comes over it first is a Hello, which says
// what the process is. Then frames go both ways: what the process sends to others, and what others
// have sent to it. What is in them is known to package protocol only.
package session

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Environment is the variable with the path of the socket.
const Environment = "TANDEM_PROTOCOL_SESSION"

// Hello says what a process is.
type Hello struct {
	// Saved is what a part begins with, as the front has given it to Start; nil: nothing.
	Saved []byte
	// Every is the least time between two checkpoints of a part; zero: there are none.
	Every time.Duration
	// Front: it leads the search. Else it is part Own, and Process is its number.
	Front   bool
	Own     int
	Process uint64
	// Parts is how many there are, Partition the function that divides states among them.
	Parts     int
	Partition string
	// Last is what another front has sent last of levels; nil: there was none. Ends are what it has
	// sent of searches that have ended.
	Last []byte
	Ends [][]byte
}

// Addresses that are no parts.
const (
	Front = -1
	All   = -2
	// Levels are all parts. Of what was sent there, another front that goes on needs the last.
	Levels = -3
	// Ends are all parts, too. What was sent there is not forgotten until all searches have ended.
	Ends = -4
)

// Op is what a process wants.
type Op byte

// The operations.
const (
	Send   Op = iota // a message
	Start            // another process is to become a part
	Forget           // all messages up to here, but for those to Ends, and all objects
	Keep             // messages and objects; others are not needed any more
	// These two go over a connection of their own, and each is answered.
	Put // an object
	Get // an object

	Tell // how far the search is: a Progress
)

// Frame is what a process sends to the one that has started it.
type Frame struct {
	Op      Op
	To      int
	Process uint64 // of Start
	// Data is the message of Send, what a part begins with, a Kept, or a Progress. With Put and Get
	// it begins with the name of the object, which has To bytes.
	Data []byte
}

// Progress is what the front tells at the end of each level.
type Progress struct {
	States      int
	Transitions int64
	Depth       int // transitions to the last states
}

// KindGone is the first byte of the message that Gone makes. Other messages begin with smaller
// ones.
const KindGone = 8

// Gone is the message that tells the front that a process has ended.
func Gone(e Ended) ([]byte, error) {
	data, err := json.Marshal(e)
	return append([]byte{KindGone, 0}, data...), err
}

// Ended is a process that has ended, and why.
type Ended struct {
	Part    int
	Process uint64
	Reason  string
	// ByItself: it was not killed, nor its machine. Another one may end in the same way.
	ByItself bool
}

// maxFrame bounds the bytes of a frame.
const maxFrame = 1 << 30

// errFrame is of bytes that are no frame.
var errFrame = errors.New("something else than a frame came from the other process")

// Conn is one end of the connection. One goroutine may read, and several may write.
type Conn struct {
	conn net.Conn
	in   *bufio.Reader
	mu   sync.Mutex
	out  []byte
}

// NewConn has a connection for frames.
func NewConn(c net.Conn) *Conn {
	const buffer = 1 << 18
	return &Conn{conn: c, in: bufio.NewReaderSize(c, buffer)}
}

// Dial connects to the process that has started this one, and says what this one is.
func Dial(path string) (*Conn, *Hello, error) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return nil, nil, fmt.Errorf("connecting to the process that has started this one: %w; unset %s to "+
			"check a model alone", err, Environment)
	}
	c := NewConn(conn)
	data, _, err := c.Message()
	h := &Hello{}
	if err == nil {
		err = json.Unmarshal(data, h)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("what this process is to do: %w", err), conn.Close())
	}
	return c, h, nil
}

// Greet says to a process what it is.
func (c *Conn) Greet(h *Hello) error {
	data, err := json.Marshal(h)
	if err == nil {
		err = c.WriteMessage(0, data)
	}
	return err
}

// Close ends the connection. Whoever reads gets an error.
func (c *Conn) Close() error { return c.conn.Close() }

// WriteMessage writes what somebody else has sent to the process. The place is that among all
// messages; zero: it has none.
func (c *Conn) WriteMessage(place uint64, data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = binary.LittleEndian.AppendUint32(c.out[:0], uint32(len(data)))
	c.out = append(binary.LittleEndian.AppendUint64(c.out, place), data...)
	_, err := c.conn.Write(c.out)
	return err
}

// Message reads what somebody else has sent to the process, and its place.
func (c *Conn) Message() (data []byte, place uint64, err error) {
	var head [4 + 8]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return nil, 0, err
	}
	data, err = c.bytes(nil, binary.LittleEndian.Uint32(head[:]))
	return data, binary.LittleEndian.Uint64(head[4:]), err
}

// bytes reads so many bytes.
func (c *Conn) bytes(room []byte, n uint32) ([]byte, error) {
	if n > maxFrame {
		return nil, errFrame
	}
	data := room
	if int(n) > cap(data) {
		data = make([]byte, n)
	}
	data = data[:n]
	_, err := io.ReadFull(c.in, data)
	return data, err
}

// headSize is that of the head of a frame: what it is, to whom, the process, and how many bytes
// follow.
const headSize = 1 + 4 + 8 + 4

// WriteFrame writes what the process wants.
func (c *Conn) WriteFrame(f Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = append(appendHead(c.out[:0], f, len(f.Data)), f.Data...)
	_, err := c.conn.Write(c.out)
	return err
}

// appendHead writes the head of a frame with so many bytes.
func appendHead(dst []byte, f Frame, size int) []byte {
	dst = append(dst, byte(f.Op))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(int32(f.To)))
	dst = binary.LittleEndian.AppendUint64(dst, f.Process)
	return binary.LittleEndian.AppendUint32(dst, uint32(size))
}

// Frame reads what the process wants.
func (c *Conn) Frame() (Frame, error) { return c.frame(nil) }

// frame reads a frame, into room if that is large enough.
func (c *Conn) frame(room []byte) (f Frame, err error) {
	var head [headSize]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return f, err
	}
	f.Op, f.To = Op(head[0]), int(int32(binary.LittleEndian.Uint32(head[1:])))
	f.Process = binary.LittleEndian.Uint64(head[5:])
	if f.Op > Tell {
		return f, errFrame
	}
	f.Data, err = c.bytes(room, binary.LittleEndian.Uint32(head[13:]))
	return f, err
}
