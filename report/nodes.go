package report

// Nodes is a check of several programs together.
type Nodes struct {
	Verdict Verdict
	// Reason is one line: what ended the search, or which node has the violation.
	Reason string
	Note   string // what a violation may rest on; a line, or empty
	// Counterexample is the execution of the node that has the violation; nil: there is none, or it
	// is not known.
	Counterexample *Counterexample
	Names          []string
	// Steps are what the nodes do to each other up to the violation, in an order that is possible.
	Steps []NodeStep
	// Executions is how many executions of single nodes were run. Skeletons is in how many ways the
	// nodes talk to each other. Local is how many executions of single nodes there are in these,
	// and Global how many of all together they stand for.
	Executions, Skeletons, Local int
	Global                       float64
}

// NodeStep is something that a node does and others can notice, or that it takes from others.
// Without a node it is about all of them: the common clock advances.
type NodeStep struct{ Node, What string }
