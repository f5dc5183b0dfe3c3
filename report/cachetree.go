package report

import "fmt"

// CacheTree is a part of the I/O cache at the end of a search: a tree of inputs to the peers, with
// what they have answered. What it says is bounded, so that it can be kept with a counterexample.
type CacheTree struct {
	// Places are in order: each comes after the one above, and right before what is below it.
	Places []CachePlace
	// LeftOut is how many more the search came by.
	LeftOut int
}

// MaxPlaces is how many places a CacheTree has, unless more are on the way of the counterexample.
const MaxPlaces = 2000

// CachePlace is the place after an input.
type CachePlace struct {
	Parent int `json:"parent"` // index of the place above; -1: nothing was given yet
	// Sent is the input, and Got what the peers did then, in words: a line for each message.
	Sent []string `json:"sent,omitempty"`
	Got  []string `json:"got,omitempty"`
	// Input is which input of the counterexample led here, counted from 1; 0: none did.
	Input int `json:"input,omitempty"`
	// Hits is how often the cache answered the input, instead of the peers.
	Hits int `json:"hits,omitempty"`
	// Checkpoint is what has taken the checkpoint that is here: criu, memory; empty: there is none.
	Checkpoint string `json:"checkpoint,omitempty"`
	// Restores is how often the peers were restored from here, Starts how often they were started.
	Restores int `json:"restores,omitempty"`
	Starts   int `json:"starts,omitempty"`
}

// validate checks what the types leave open. The execution had so many inputs. The tree may be nil.
func (c *CacheTree) validate(inputs int) error {
	if c == nil {
		return nil
	}
	others := 0 // places that no input of the execution led to
	for i, p := range c.Places {
		switch {
		case p.Parent >= i || p.Parent < -1 || p.Parent == -1 != (i == 0):
			return fmt.Errorf("place %d is below place %d", i, p.Parent)
		case p.Input < 0 || p.Input > inputs:
			return fmt.Errorf("place %d is that of input %d, and there are %d", i, p.Input, inputs)
		case p.Hits < 0 || p.Restores < 0 || p.Starts < 0:
			return fmt.Errorf("place %d has a negative number", i)
		}
		if p.Input == 0 {
			others++
		}
	}
	// A tree of many connections begins with a place for each.
	if others > MaxPlaces+inputs+2 || c.LeftOut < 0 {
		return fmt.Errorf("%d places beside the counterexample, and %d left out", others, c.LeftOut)
	}
	return nil
}
