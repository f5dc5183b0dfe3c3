package apart

import (
	"encoding/json"
	"os"
	"sync"

	"github.com/tandem-mc/tandem/protocol/session"
)

// remote has messages go to the process that has started this one, which brings them to others.
type remote struct {
	conn  *session.Conn
	store *session.Store
}

func (r remote) Send(to int, message []byte) error {
	return r.conn.WriteFrame(session.Frame{Op: session.Send, To: to, Data: message})
}

func (r remote) Receive() ([]byte, uint64, error) { return r.conn.Message() }

func (r remote) Start(part int, process uint64, saved []byte) error {
	return r.conn.WriteFrame(session.Frame{Op: session.Start, To: part, Process: process, Data: saved})
}

func (r remote) Put(name string, data []byte) error {
	_, err := r.store.Do(session.Put, name, data)
	return err
}

func (r remote) Get(name string) ([]byte, error) { return r.store.Do(session.Get, name, nil) }

func (r remote) Keep(k session.Kept) error { return r.write(session.Keep, k) }

func (r remote) Tell(p session.Progress) error { return r.write(session.Tell, p) }

// write writes a frame whose data is a value in JSON.
func (r remote) write(op session.Op, v any) error {
	data, err := json.Marshal(v)
	if err == nil {
		err = r.conn.WriteFrame(session.Frame{Op: op, Data: data})
	}
	return err
}

func (r remote) Forget() error { return r.conn.WriteFrame(session.Frame{Op: session.Forget}) }

// Environment returns what this process has to do with others, as its environment says; nil: it
// searches by itself. All searches of the process have the same session.
var Environment = sync.OnceValues(func() (*Session, error) {
	path := os.Getenv(session.Environment)
	if path == "" {
		return nil, nil
	}
	conn, h, err := session.Dial(path)
	if err != nil {
		return nil, err
	}
	p, err := Parse(h.Partition)
	if err != nil {
		return nil, err
	}
	return &Session{Transport: remote{conn, session.NewStore(path)}, Saved: h.Saved, Every: h.Every,
		IsFront: h.Front, Own: h.Own, Process: h.Process, Parts: h.Parts,
		Partition: p, Last: h.Last, Ends: h.Ends}, nil
})
