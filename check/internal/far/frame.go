package far

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/klauspost/compress/s2"
)

// maxFrame bounds what a frame takes in memory, in bytes. Parts of very deep searches have some 10
// million.
const maxFrame = 256 << 20

// errFrame is why something is no frame.
var errFrame = errors.New("it is cut off or damaged")

// frame is how something crosses: what is small as JSON, and what is large as it is. A part is a
// million bytes, most of which come again and again.
func frame(small any, large []byte) ([]byte, error) {
	head, err := json.Marshal(small)
	if err != nil {
		return nil, err
	}
	data := make([]byte, 0, binary.MaxVarintLen64+len(head)+len(large))
	data = append(append(binary.AppendUvarint(data, uint64(len(head))), head...), large...)
	if len(data) > maxFrame {
		return nil, fmt.Errorf("it has %d bytes, and there is room for %d", len(data), maxFrame)
	}
	return s2.Encode(nil, data), nil
}

// unframe reads what frame wrote.
func unframe(written []byte, small any) (large []byte, err error) {
	if n, err := s2.DecodedLen(written); err != nil || n > maxFrame {
		return nil, errFrame
	}
	data, err := s2.Decode(nil, written)
	if err != nil {
		return nil, errFrame
	}
	length, n := binary.Uvarint(data)
	if n <= 0 || length > uint64(len(data)-n) {
		return nil, errFrame
	}
	data = data[n:]
	return data[length:], json.Unmarshal(data[:length], small)
}
