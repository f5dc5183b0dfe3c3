package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// MaxHello is how many bytes a first message has at most.
const MaxHello = 4 << 10

// Hello is the proxy's first message: its peers, or why there are none.
type Hello struct {
	// Peers are the pids in the group's pid namespace, in the order of Config.Peers; of those
	// OnDemand, in advance.
	Peers []int
	Error string `json:",omitempty"`
}

// EncodeHello writes the first message. It has so much of an error as a message takes: of a byte,
// up to six may be made.
func EncodeHello(h Hello) ([]byte, error) {
	for {
		b, err := json.Marshal(h)
		if err != nil || len(b) <= MaxHello || h.Error == "" {
			return b, err
		}
		h.Error = strings.ToValidUTF8(h.Error[:len(h.Error)/2], "")
	}
}

// DecodeHello returns the process IDs of the peers, or why there are none. The text is that of the
// proxy, as it is.
func DecodeHello(b []byte) ([]int, error) {
	var h Hello
	if err := json.Unmarshal(b, &h); err != nil {
		return nil, fmt.Errorf("the proxy's first message: %w", err)
	}
	if h.Error != "" {
		return nil, errors.New(h.Error)
	}
	for _, pid := range h.Peers {
		if pid <= 1 {
			return nil, fmt.Errorf("the proxy's first message: %d is not the pid of a peer", pid)
		}
	}
	return h.Peers, nil
}
