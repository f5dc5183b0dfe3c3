package main

import (
	"reflect"
	"slices"
)

// Accesses of size 0 are none, whatever lies at their address.

type empty struct{}

type hollow struct {
	none [0]int
	n    int
}

func zeroSizeStruct() {
	h := &hollow{}
	f := func() { h.none = [0]int{} }
	fork(f, func() { f(); h.n++ })
}

func zeroSizeAppend() {
	b := make([]int, 4)
	fork(
		func() { _ = append(b[:0:0], 7) },
		func() { _ = append(b[1:1], b[2:2]...) },
		func() { _ = slices.Clip(slices.Grow(b[:0:0], 9)) },
		func() { clear(b) },
	)
}

func zeroSizeCopy() {
	b := make([]int, 4)
	fork(func() { copy(b[1:1], b[2:]); copy(b[3:], b[:0]); clear(b[1:1]) }, func() { b[1], b[2], b[3] = 1, 2, 3 })
	none := make([]empty, 4)
	fork(func() { copy(none, make([]empty, 3)) }, func() { copy(none, make([]empty, 2)) })
}

func zeroSizeMap() {
	m := map[int]empty{1: {}, 2: {}}
	e := &empty{}
	fork(func() { *e = m[1] }, func() { *e = m[2] })
	k := map[empty]int{{}: 1}
	fork(func() { _ = k[*e] }, func() { *e = empty{} })
}

func zeroSizeSet() {
	set := func(p, v any) { reflect.ValueOf(p).Elem().Set(reflect.ValueOf(v).Elem()) }
	type other struct{ _ [0]string }
	fork(func() { set(&empty{}, &empty{}) }, func() { set(&other{}, &other{}) })
	s := reflect.ValueOf(make([]empty, 2))
	fork(func() { s.Index(0).SetZero() }, func() { s.Index(1).Set(reflect.Zero(s.Type().Elem())) })
	fork(func() { reflect.Copy(s, s) }, func() { reflect.Append(s, s.Index(0)) })
}

func zeroSizeChannel() {
	c, e := make(chan empty, 2), &empty{}
	fork(func() { c <- *e; *e = <-c }, func() { *e = empty{} })
}
