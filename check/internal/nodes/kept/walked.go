package kept

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
)

// Walked is what is known after some walks: all that the next one depends on. Several are made at
// the same time, and it must not matter which of them ends first. So a walk only knows what there
// was before its batch (package batch). Next is known after that.
type Walked struct {
	Walks uint64
	Runs  int
	pick.Known
	Next pick.Known
	Cut  string   // that executions of a node were cut off
	Said []string // names that were published, of each pattern of Config.Properties one
	// Dialled are the peers that nodes have connected to.
	Dialled map[string]bool `json:",omitempty"`
	// Signatures are those of violations that walks have found: none is told again.
	Signatures map[string]bool `json:",omitempty"`
}

// Encode returns what DecodeWalked takes. It may be called later: what is known then is not in it.
func (w Walked) Encode() ([]byte, error) { return json.Marshal(w) }

// IsNew notes a violation by its signature, and says whether walks have not found it before. One
// without a signature may be any of those that were found.
func (w *Walked) IsNew(signature string) bool {
	if w.Signatures[signature] || signature == "" && len(w.Signatures) > 0 {
		return false
	}
	w.Signatures = maps.Clone(w.Signatures) // what was encoded before may still be read
	w.Signatures[signature] = true
	return true
}

// DecodeWalked is the inverse of Encode, for so many nodes. Without data no walk was made yet.
func DecodeWalked(data []byte, nodes int) (w Walked, err error) {
	if data == nil {
		w = Walked{Known: pick.NewKnown(nodes), Next: pick.NewKnown(nodes)}
		w.Dialled, w.Signatures = map[string]bool{}, map[string]bool{}
		return w, nil
	}
	w.Dialled, w.Signatures = map[string]bool{}, map[string]bool{}
	if err = json.Unmarshal(data, &w); err == nil && !(w.Known.IsOf(nodes) && w.Next.IsOf(nodes)) {
		err = fmt.Errorf("they are not of %d nodes", nodes)
	}
	if err != nil {
		return w, fmt.Errorf("the walks that were saved cannot be read: %w: check the nodes from the "+
			"beginning", err)
	}
	return w, nil
}
