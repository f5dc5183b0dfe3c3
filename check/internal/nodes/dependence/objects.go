package dependence

import "github.com/tandem-mc/tandem/internal/model"

// Objects that stand for what the environment decides by: other inputs that it depends on access
// them, too. Objects of programs have hashes as names, of which these few are none.
const (
	// Doors stands for the numbers of connections and listeners.
	Doors = model.ObjectID(1<<63 | 1<<61)
	// Node stands for all events of a node whose events are in one order.
	Node         = Doors + 1
	firstArrival = Doors + 2
	// Group is what the passing of time accesses.
	Group = model.ObjectID(1 << 63)
)

// Arrival stands for whether the i-th arrival is there.
func Arrival(i int) model.ObjectID { return firstArrival + model.ObjectID(i) }

// IsAdded reports whether an object is none of the program's, where so much can arrive.
func IsAdded(o model.ObjectID, arrivals int) bool {
	return o == Group || o >= Doors && o < Arrival(arrivals)
}
