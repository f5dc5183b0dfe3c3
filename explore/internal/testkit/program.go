package testkit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Program is a small concurrent program: the text form has one goroutine per
// line, the first one being main,
//
//	main: go p; wait w
//	p: lock m; load r0 x; unlock m
//
// A leading dot seals an operation: there is no scheduling point before it.
// Local operations (go, skip, assert) have none anyway.
type Program struct {
	names   []string // of the goroutines
	Bodies  [][]instruction
	objects []string
}

type instruction struct {
	op     operator
	sealed bool
	object int // in program.objects; for opGo a goroutine
	other  int // a second object
	reg    int
	value  int
}

type operator int

const (
	opLoad    operator = iota // load r x: r = x
	opStore                   // store x v
	opInc                     // inc x r: x = r + 1
	opLock                    // lock m
	opUnlock                  // unlock m
	opRLock                   // rlock m
	opRUnlock                 // runlock m
	opAdd                     // add w v
	opDone                    // done w
	opWait                    // wait w
	// send c v; the capacity of a channel is the digits at the end of its name
	opSend
	opRecv   // recv r c
	opSelect // select r c d: receives from c or d
	opEither // either r c d v: receives from c or sends v to d
	opPoll   // poll r c: receives, or r = -1 at once
	opOffer  // offer r c v: sends and r = 1, or r = 0 at once
	opClose  // close c
	opChoose // choose r v: r = one of 0 ... v-1
	opSleep  // sleep v
	opExit   // exit v
	// state v: names the state of the program; v is what it leaves out, 0 for nothing
	opState
	opGo       // go p
	opSkip     // skip r v n: when r == v skip n operations, or go back if n is negative
	opAssert   // assert r v: fails unless r == v
	opEstimate // estimate v: tells a directed search how near a violation is
	operators
)

// syntax gives the name of each operator and the kinds of its arguments: o object,
// r register, v value, g goroutine.
var syntax = [operators]string{
	opLoad: "load ro", opStore: "store ov", opInc: "inc or", opLock: "lock o", opUnlock: "unlock o",
	opRLock: "rlock o", opRUnlock: "runlock o", opAdd: "add ov", opDone: "done o", opWait: "wait o",
	opSend: "send ov", opRecv: "recv ro", opSelect: "select roo",
	opEither: "either roov", opPoll: "poll ro", opOffer: "offer rov", opClose: "close o",
	opChoose: "choose rv", opSleep: "sleep v",
	opExit: "exit v", opState: "state v", opGo: "go g", opSkip: "skip rvv", opAssert: "assert rv",
	opEstimate: "estimate v",
}

func (o operator) local() bool { return o >= opGo }

// settles reports whether the operation makes one access, to its object, whatever it finds.
func (in *instruction) settles() bool {
	switch in.op {
	case opLoad, opStore, opInc, opLock, opUnlock, opRLock, opRUnlock, opAdd, opDone, opWait:
		return true
	}
	return false
}

// ParseProgram reads the text form.
func ParseProgram(text string) *Program {
	p := &Program{}
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		name, body, ok := strings.Cut(line, ":")
		if !ok {
			panic(fmt.Sprintf("no goroutine name in %q", line))
		}
		p.names = append(p.names, strings.TrimSpace(name))
		lines = append(lines, body)
	}
	for _, body := range lines {
		var instructions []instruction
		for part := range strings.SplitSeq(body, ";") {
			if fields := strings.Fields(part); len(fields) > 0 {
				instructions = append(instructions, p.parse(fields))
			}
		}
		p.Bodies = append(p.Bodies, instructions)
	}
	return p
}

func (p *Program) parse(fields []string) instruction {
	var in instruction
	name, sealed := strings.CutPrefix(fields[0], ".")
	in.sealed = sealed
	for op, form := range syntax {
		if known, kinds, _ := strings.Cut(form, " "); known == name && len(kinds) == len(fields)-1 {
			in.op = operator(op)
			for i, kind := range kinds {
				p.argument(&in, byte(kind), kinds[:i], fields[i+1])
			}
			return in
		}
	}
	panic(fmt.Sprintf("cannot parse %q", fields))
}

func (p *Program) argument(in *instruction, kind byte, before, text string) {
	switch kind {
	case 'r':
		in.reg = number(strings.TrimPrefix(text, "r"))
	case 'v':
		if strings.Contains(before, "v") {
			in.other = number(text)
		} else {
			in.value = number(text)
		}
	case 'g':
		in.object = index(&p.names, text)
	case 'o':
		if strings.Contains(before, "o") {
			in.other = index(&p.objects, text)
		} else {
			in.object = index(&p.objects, text)
		}
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

// index returns the place of a name in names, where it is added if need be.
func index(names *[]string, name string) int {
	for i, known := range *names {
		if known == name {
			return i
		}
	}
	*names = append(*names, name)
	return len(*names) - 1
}

// place names where in the program a goroutine is: bodies that are alike are one.
func (p *Program) place(g *simGoroutine) uint64 {
	body := slices.IndexFunc(p.Bodies, func(b []instruction) bool { return slices.Equal(b, g.body) })
	return uint64(body+1)<<32 + uint64(2*g.pc) + uint64(btoi(g.continuing))
}

func (p *Program) String() string {
	var b strings.Builder
	for i, body := range p.Bodies {
		fmt.Fprintf(&b, "%s:", p.names[i])
		for j, in := range body {
			if j > 0 {
				b.WriteByte(';')
			}
			b.WriteByte(' ')
			b.WriteString(p.format(in))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (p *Program) format(in instruction) string {
	name, kinds, _ := strings.Cut(syntax[in.op], " ")
	if in.sealed {
		name = "." + name
	}
	for i, kind := range kinds {
		again := strings.ContainsRune(kinds[:i], kind)
		switch {
		case kind == 'r':
			name += fmt.Sprintf(" r%d", in.reg)
		case kind == 'g':
			name += " " + p.names[in.object]
		case kind == 'o' && again:
			name += " " + p.objects[in.other]
		case kind == 'o':
			name += " " + p.objects[in.object]
		case again:
			name += fmt.Sprintf(" %d", in.other)
		default:
			name += fmt.Sprintf(" %d", in.value)
		}
	}
	return name
}
