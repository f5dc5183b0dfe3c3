// Package model is the vocabulary that all rooms share: what a program does to its peers, what
// they do in reaction, which actions a search schedules, what a transition accesses, how an
// execution ends, and what a check concludes from all of them.
//
// The package is pure data with the operations that belong to it: no I/O, no clock, no goroutine.
// Values may be used by several goroutines as long as nobody changes them.
package model
