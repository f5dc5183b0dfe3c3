package configs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/sut"
)

// Faults are faults of the network, as --faults and the key faults name them: how many, and which.
// A limit of 0 stands for no faults.
type Faults struct {
	// Limit is how many there are in an execution at most.
	Limit int
	// Kinds are of sut.FaultKinds; empty: sut.DefaultFaultKinds.
	Kinds []string
	// Operations are of sut.FaultOperations; empty: all.
	Operations []string
	// Peers are the names of those whose connections can fail; empty: all.
	Peers []string
}

// ParseFaults reads a number and what narrows it, with commas in between: kinds, peer=NAME and
// on=OPERATION, each as often as needed, such as 2,reset,end,peer=redis,on=read. Blanks may stand
// for commas. The error is one line and says what can be given. Whether there are such peers is not
// known here: see Config.Validate.
func ParseFaults(list string) (Faults, error) {
	words := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	var f Faults
	if len(words) == 0 {
		return f, fmt.Errorf("%q has no number: give one from 0 to %d, and after it what narrows it, "+
			"such as 1,reset",
			list, MaxFaults)
	}
	var err error
	if f.Limit, err = strconv.Atoi(words[0]); err != nil {
		return f, fmt.Errorf("%.40q is not a number: give how many faults there can be first, such as 1 "+
			"or 1,reset",
			words[0])
	}
	for _, word := range words[1:] {
		if err := f.narrow(word); err != nil {
			return f, err
		}
	}
	// Which kinds can happen at which operations, the environment knows.
	w := sut.Environment{}
	f.setTo(&w)
	return f, w.CheckFaults()
}

// narrow takes one word of a selection. A word that is given twice is an error, since it may be
// meant to make that fault more frequent.
func (f *Faults) narrow(word string) error {
	to, key, value := &f.Kinds, "", word
	if k, v, ok := strings.Cut(word, "="); ok {
		key, value = k, v
	}
	switch {
	case key == "peer":
		to = &f.Peers
	case key == "on":
		if to = &f.Operations; !slices.Contains(sut.FaultOperations, value) {
			return fmt.Errorf("%.40q is no operation at which the network fails: give on=%s",
				value, strings.Join(sut.FaultOperations, ", on="))
		}
	case key != "" || !slices.Contains(sut.FaultKinds, value):
		return fmt.Errorf("%.40q is no kind of fault: choose one of %s; peer=NAME and on=%s narrow them",
			word, strings.Join(sut.FaultKinds, ", "), strings.Join(sut.FaultOperations, ", on="))
	}
	if slices.Contains(*to, value) {
		return fmt.Errorf("%.40q is given twice: leave one out", word)
	}
	*to = append(*to, value)
	return nil
}

// SetFaults makes these the faults of the world, in place of those that the file has.
func (c *Config) SetFaults(f Faults) { f.setTo(&c.World) }

// setTo makes these the faults of an environment.
func (f Faults) setTo(w *sut.Environment) {
	w.Faults, w.FaultKinds, w.FaultOperations, w.FaultPeers = f.Limit, f.Kinds, f.Operations, f.Peers
}

// faultProblems says what is wrong with the peers whose connections can fail. A fault is put into
// connections to peers that are named, so it must be known whose each connection is.
func (c Config) faultProblems() (problems []Problem) {
	if len(c.World.FaultPeers) == 0 {
		return nil
	}
	// Without peers each name is wrong.
	var group peers.Group
	if c.Group != nil {
		group = *c.Group
	}
	if err := group.CheckFaults(c.World.FaultPeers); err != nil {
		problems = append(problems, Problem{Key: "faults", What: err.Error()})
	}
	return problems
}
