package apart

import (
	"fmt"

	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// Texts are Names by texts of local states and messages. Images would not do: they
// have numbers of types, in the order in which a process has met these. A text has names of types
// and values of fields, and no addresses.
//
// Of a node with very many fields a text does not show all. So two local states may have the same
// text, and then belong to the same part. They stay two, since nothing rests on their texts but
// whose a state is, and which of several runs is shown. Texts of messages leave out nothing.
type Texts struct {
	Table *table.Table
	// Fields shows the image of a local state. Show tells values apart by their images.
	Fields func(node int, image []byte) (string, error)
	Show   func(image []byte) string
	// Renamer is needed if nodes are alike. All are the orders of these.
	Renamer table.Renamer
	All     [][]int
}

// Local is that of Names. The node is the one that has the local state under the new names.
func (t *Texts) Local(node int, l table.Local, to []int) (string, error) {
	image := t.Table.State(node, l).Image
	if to == nil {
		return t.Fields(node, image)
	}
	image, err := t.Renamer.RenameState(node, image, to, false)
	if err != nil {
		return "", err
	}
	return t.Fields(to[node], image)
}

// Message is that of Names.
func (t *Texts) Message(m table.Message, to []int) (text string, err error) {
	sent := t.Table.Message(m)
	if to != nil {
		sent.From, sent.To = to[sent.From], to[sent.To]
		sent.Image, err = t.Renamer.RenameMessage(sent.Image, to, false)
	}
	return fmt.Sprint(sent.From, sent.To, t.Show(sent.Image)), err
}

// numbering is the same in two processes if their numbers mean the same: a digest of the texts of
// all local states and messages in the order of their numbers.
func (t *Texts) numbering() (sum uint64, err error) {
	locals, messages := t.Table.Numbers()
	add := func(text string, err error) error {
		sum = mix(sum) + digestOf(text, 0)
		return err
	}
	for node, n := range locals {
		for l := range n {
			if err := add(t.Local(node, table.Local(l), nil)); err != nil {
				return 0, err
			}
		}
		sum = mix(sum + 1)
	}
	for m := range messages {
		if err := add(t.Message(table.Message(m), nil)); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// Orders is that of Names.
func (t *Texts) Orders() [][]int { return t.All }
