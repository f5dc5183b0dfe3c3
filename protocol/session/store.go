package session

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
)

// Pieces are objects of one kind that one process has stored, with numbers from From on, up to To.
type Pieces struct {
	Process  uint64
	From, To int
}

// has says whether an object is among them.
func (p *Pieces) has(o Object) bool {
	return o.Process == p.Process && o.Number >= p.From && o.Number < p.To
}

// Object names an object that a part has stored: a piece of its states, or the head of a
// checkpoint. Each process numbers its own.
type Object struct {
	Part    int
	Process uint64
	IsHead  bool
	Number  int
}

// String is the name of an object.
func (o Object) String() string {
	kind := "states"
	if o.IsHead {
		kind = "head"
	}
	return fmt.Sprintf("%d.%s.%s.%d", o.Part, strconv.FormatUint(o.Process, 36), kind, o.Number)
}

// parseObject is the reverse of String.
func parseObject(name string) (o Object, ok bool) {
	words := strings.Split(name, ".")
	if len(words) != 4 {
		return o, false
	}
	var errs [3]error
	o.Part, errs[0] = strconv.Atoi(words[0])
	o.Process, errs[1] = strconv.ParseUint(words[1], 36, 64)
	o.IsHead = words[2] == "head"
	o.Number, errs[2] = strconv.Atoi(words[3])
	return o, errors.Join(errs[:]...) == nil
}

// Kept says what is still needed of a search. What is not may be removed.
type Kept struct {
	// Levels is the place of the first message to Levels.
	Levels uint64
	Parts  []KeptPart
}

// KeptPart says it of one part: the place of the first message to it, and objects. What its process
// has stored behind them may belong to a checkpoint that is being written.
type KeptPart struct {
	Place         uint64
	Process       uint64
	Pieces, Heads []Pieces
}

// Has says whether the object of a name is needed.
func (k *Kept) Has(name string) bool {
	o, ok := parseObject(name)
	if !ok || o.Part < 0 || o.Part >= len(k.Parts) {
		return false
	}
	p := &k.Parts[o.Part]
	list := p.Pieces
	if o.IsHead {
		list = p.Heads
	}
	// Numbers of one process only grow. Behind those that are told of may come others.
	next := 0
	for i := range list {
		if list[i].has(o) {
			return true
		}
		if list[i].Process == o.Process {
			next = max(next, list[i].To)
		}
	}
	return o.Process == p.Process && o.Number >= next
}

// ErrLost is of an object that is not there any more, or not as it was.
var ErrLost = errors.New("what was stored at the server is not there any more, or not as it was")

// Store is the connection for objects. Only one is put or got at a time. It is apart from that of
// messages, since there one side may have to wait until the other one reads on.
type Store struct {
	mu   sync.Mutex
	path string
	conn *Conn // nil: it was not needed yet
}

// NewStore connects to the same socket as Dial, as soon as there is something to store.
func NewStore(path string) *Store { return &Store{path: path} }

// The first byte of an answer.
const (
	isDone = iota
	isLost
	isFailed
)

// Do has an object put or got.
func (s *Store) Do(op Op, name string, data []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		conn, err := net.Dial("unix", s.path)
		if err != nil {
			return nil, fmt.Errorf("connecting to the process that has started this one: %w", err)
		}
		s.conn = NewConn(conn)
	}
	// An object has megabytes, and is not copied. There is one answer to each, so the next one is
	// that of this.
	head := appendHead(nil, Frame{Op: op, To: len(name)}, len(name)+len(data))
	buffers := net.Buffers{append(head, name...), data}
	if _, err := buffers.WriteTo(s.conn.conn); err != nil {
		return nil, err
	}
	answer, _, err := s.conn.Message()
	switch {
	case err != nil:
		return nil, err
	case len(answer) == 0:
		return nil, errFrame
	case answer[0] == isLost:
		return nil, fmt.Errorf("%w: %s", ErrLost, answer[1:])
	case answer[0] == isFailed:
		return nil, errors.New(string(answer[1:]))
	}
	return answer[1:], nil
}

// Serve answers what comes over the connection of a store, until that ends. What is put may be kept
// only until put returns.
func (c *Conn) Serve(put func(name string, data []byte) error, get func(name string) ([]byte, error)) {
	var room []byte
	for {
		f, err := c.frame(room)
		room = f.Data
		if err != nil || f.Op < Put || f.To < 0 || f.To > len(f.Data) {
			return
		}
		var data []byte
		// The other side waits for an answer in any case.
		if name := string(f.Data[:f.To]); f.Op == Put {
			err = put(name, f.Data[f.To:])
		} else {
			data, err = get(name)
		}
		switch {
		case errors.Is(err, ErrLost):
			data = append([]byte{isLost}, err.Error()...)
		case err != nil:
			data = append([]byte{isFailed}, err.Error()...)
		default:
			data = append([]byte{isDone}, data...)
		}
		if c.WriteMessage(0, data) != nil {
			return
		}
	}
}
