package protocol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/image"
	"github.com/tandem-mc/tandem/protocol/internal/kept"
)

// A saved model is what runs begin with: the nodes, their timers, and the messages under way. After
// a line of text come the names of types, for each node its flags, its timers and its image, and
// each message with its sender and its receiver; then a checksum. Numbers are varints; names and
// images have their lengths before them.
const savedHead = "tandem protocol 1\n"

// errNotSaved is of bytes that Save has not written, or that have changed since.
var errNotSaved = errors.New("this is no saved model, or a part of it is lost: take the bytes that Save " +
	"has written")

// Save writes where a model stands that runs already: its nodes, and Running. Load reads it. With
// that, a violation that was found in a running system can be repeated by Replay.
func (m *Model) Save() ([]byte, error) {
	if m.Running == nil {
		return nil, fmt.Errorf("the model does not run yet: there is nothing to save")
	}
	// The images have numbers of their own, which Load gives to the same types.
	machine, err := newMachine(m)
	if err != nil {
		return nil, err
	}
	data := []byte(savedHead)
	names, err := image.TypeNames(machine.images)
	if err != nil {
		return nil, err
	}
	data = binary.AppendUvarint(data, uint64(len(names)))
	for _, name := range names {
		data = appendPart(data, []byte(name))
	}
	data = binary.AppendUvarint(data, uint64(len(machine.begun)))
	// Messages come after all nodes, up to the checksum.
	var messages []byte
	for node, effect := range machine.begun {
		data = appendPart(data, effect.State)
		for _, sent := range effect.Sent {
			messages = binary.AppendUvarint(messages, uint64(node))
			messages = appendPart(binary.AppendUvarint(messages, uint64(sent.To)), sent.Image)
		}
	}
	data = append(data, messages...)
	return binary.LittleEndian.AppendUint32(data, crc32.ChecksumIEEE(data)), nil
}

// appendPart appends bytes with their length.
func appendPart(data, part []byte) []byte {
	return append(binary.AppendUvarint(data, uint64(len(part))), part...)
}

// Load returns the model as it stood when it was saved. M is the model that was run, with its nodes
// as they were before the start. Values has one value of each type that messages, timers and
// interfaces of the nodes may have; an error names a type that is missing.
func (m *Model) Load(data []byte, values ...any) (*Model, error) {
	end := len(data) - 4
	if end < 0 || !bytes.HasPrefix(data, []byte(savedHead)) ||
		crc32.ChecksumIEEE(data[:end]) != binary.LittleEndian.Uint32(data[end:]) {
		return nil, errNotSaved
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m.load(&kept.Parts{In: data[len(savedHead):end]}, values)
}

// load reads what is between the first line and the checksum.
func (m *Model) load(p *kept.Parts, values []any) (*Model, error) {
	images, err := image.New(m.Constants...)
	if err != nil {
		return nil, err
	}
	// Types must have their numbers before anything is decoded.
	var names []string
	for range p.Count() {
		names = append(names, string(p.Part()))
	}
	for _, n := range m.Nodes {
		values = append(slices.Clip(values), n)
	}
	if err := image.SetTypeNames(images, names, values...); err != nil {
		return nil, err
	}
	images.Seal()
	if n := p.Count(); n != len(m.Nodes) {
		return nil, fmt.Errorf("the model was saved with %d nodes, and has %d: take the one that was run", n,
			len(m.Nodes))
	}
	// What follows is a state as Live has it. A machine that only decodes needs no initial images.
	live := &Live{&machine{model: m, images: images}}
	var states []LiveState
	for id := range m.Nodes {
		state := LiveState{image: p.Part()}
		if !isState(live.machine, id, state.image) {
			return nil, fmt.Errorf("%s is no %T in the saved model: take the model that was run", m.name(id),
				m.Nodes[id])
		}
		states = append(states, state)
	}
	// All that is left are messages.
	var packets []Packet
	for len(p.In) > 0 {
		packets = append(packets, Packet{From: ID(p.Uint()), To: ID(p.Uint()), Image: p.Part()})
	}
	// A checksum says only that the bytes are those that were written, by whoever it was.
	if p.IsShort {
		return nil, errNotSaved
	}
	loaded, err := live.Model(states, packets)
	if err != nil {
		return nil, err
	}
	return loaded, loaded.check()
}

// isState says whether bytes of a file are a state of a node. One that images itself says so when
// it is decoded.
func isState(m *machine, id int, state []byte) bool {
	p := &kept.Parts{In: state}
	isFlag := p.Uint() <= 1
	for range p.Count() {
		p.Part()
	}
	if _, ok := m.model.Nodes[id].(Stater); ok || !isFlag || p.IsShort {
		return isFlag && !p.IsShort
	}
	// The image says of which type the node is.
	value, err := m.images.Decode(p.In)
	return err == nil && reflect.TypeOf(value) == reflect.TypeOf(m.model.Nodes[id])
}
