package protocol

import (
	"encoding/binary"
	"sync"

	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/image"
)

// judge numbers the views of local states, and judges combinations of them. Local states with the
// same views for all properties are of one class.
type judge struct {
	properties []Property
	mu         sync.RWMutex
	views      []image.Numbered // by property
	classes    image.Numbered
	members    [][]uint32 // by class: the number of the view for each property
}

// newJudge has numbered nothing yet.
func newJudge(m *Model) *judge {
	return &judge{properties: m.Properties, views: make([]image.Numbered, len(m.Properties))}
}

// classify returns the class of a local state, and an assertion that fails there.
func (j *judge) classify(images *image.Images, id ID, node Node) (class uint32, failure string, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	// Views are asked under the lock: they see a node that nobody else has.
	members := make([]uint32, len(j.properties))
	name := []byte{}
	for i, p := range j.properties {
		if p.kind == ofNode {
			if !p.local(id, node) {
				failure = p.name
			}
			continue
		}
		view := p.view(id, node)
		encoded, err := images.Append(nil, view)
		if err != nil {
			return 0, "", err
		}
		members[i], _ = j.views[i].Number(string(encoded), view)
		name = binary.AppendUvarint(name, uint64(members[i]))
	}
	// A class is the list of its views.
	class, isNew := j.classes.Number(string(name), nil)
	if isNew {
		j.members = append(j.members, members)
	}
	return class, failure, nil
}

// holds says whether a property holds of nodes with these classes.
func (j *judge) holds(property int, classes []uint32) bool {
	// Values are never changed, so the property may look at them without the lock.
	views := make([]any, len(classes))
	j.mu.RLock()
	for i, c := range classes {
		views[i] = j.views[property].Values[j.members[c][property]]
	}
	j.mu.RUnlock()
	return j.properties[property].holds(views)
}

// state is Judge of a search.
func (j *judge) state(classes []uint32) global.Judgement {
	result := global.Judgement{Violated: -1}
	for i, p := range j.properties {
		switch {
		case p.kind == always && !j.holds(i, classes):
			result.Violated = i
			return result
		case p.kind == sometimes && j.holds(i, classes):
			result.Reached |= 1 << i
		}
	}
	return result
}

// end is JudgeEnd of a search.
func (j *judge) end(classes []uint32) int {
	for i, p := range j.properties {
		if p.kind == eventually && !j.holds(i, classes) {
			return i
		}
	}
	return -1
}

// has says whether there is a property of a kind.
func (j *judge) has(kinds ...propertyKind) bool {
	for _, p := range j.properties {
		for _, k := range kinds {
			if p.kind == k {
				return true
			}
		}
	}
	return false
}
