package protocol

// Property is something that must hold of a protocol. It looks at local states through a view: what
// of a node it depends on, such as the value that was chosen. The smaller the view is, the faster
// the check, since it is judged once for each combination of views.
type Property struct {
	name string
	kind propertyKind
	view func(id ID, node Node) any
	// holds judges the views of all nodes.
	holds func(views []any) bool
	// local judges one node; only of properties of that kind.
	local func(id ID, node Node) bool
}

// maxProperties is how many there may be: each has a bit.
const maxProperties = 64

type propertyKind uint8

const (
	always propertyKind = iota
	sometimes
	eventually
	ofNode
)

// Name is that of the property.
func (p Property) Name() string { return p.name }

// Always states an invariant: holds is true in every state that can be reached. View and holds
// change nothing, and depend on their arguments only. Views have the order of the nodes.
func Always[V any](name string, view func(id ID, node Node) V, holds func(views []V) bool) Property {
	return newProperty(name, always, view, holds)
}

// Sometimes states that a state can be reached in which holds is true. It guards against models in
// which nothing happens, where all invariants hold.
func Sometimes[V any](name string, view func(id ID, node Node) V, holds func(views []V) bool) Property {
	return newProperty(name, sometimes, view, holds)
}

// Eventually states that holds is true at the end of every run that ends: in each state in which
// nothing can happen any more. Of runs that go on for ever it says nothing.
func Eventually[V any](name string, view func(id ID, node Node) V, holds func(views []V) bool) Property {
	return newProperty(name, eventually, view, holds)
}

// Assertion states that holds is true of every local state that a node can have.
func Assertion(name string, holds func(id ID, node Node) bool) Property {
	return Property{name: name, kind: ofNode, local: holds}
}

// Whole is the view of properties that depend on all that nodes keep.
func Whole(_ ID, node Node) Node { return node }

// newProperty hides the type of the views: a model has properties of many types.
func newProperty[V any](name string, kind propertyKind, view func(ID, Node) V,
	holds func([]V) bool) Property {
	return Property{
		name: name, kind: kind,
		view: func(id ID, node Node) any { return view(id, node) },
		holds: func(views []any) bool {
			typed := make([]V, len(views))
			for i, v := range views {
				typed[i], _ = v.(V) // a nil interface stays nil
			}
			return holds(typed)
		},
	}
}
