package check

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// node is an instruction of a random program, with those that are skipped if it fails.
type node struct {
	name string
	args []int
	body []*node
}

// flavours are the instructions that programs are made of, by what they are about. "|" after a name
// stands for a body, and what follows closes it.
var flavours = map[string][]string{
	"channels": {"send,c", "send,c", "recv,c", "recv,c", "close,c", "len,c", "select,s",
		"select,s", "select,s"},
	"mutexes": {"lock,m | unlock,m", "lock,m | unlock,m", "trylock,m | unlock,m", "load,x", "store,x,v"},
	"misuses": {"unlock,m", "lock,m | unlock,m", "lock,m | unlock,m", "close,c", "send,c",
		"recv,c", "load,x"},
	"rwmutexes": {"rlock | runlock", "wlock | wunlock", "rlock | runlock", "wlock | wunlock",
		"tryrlock | runlock", "trywlock | wunlock"},
	"waitgroups": {"add,1", "add,-1", "add,2", "add,1 | add,-1", "wait", "load,x", "store,x,v"},
	"reuse":      {"add,1 | add,-1", "add,1 | add,-1", "wait", "wait", "load,x"},
	"conditions": {"lock,0 condwait unlock,0", "signal", "broadcast", "lock,0 | signal unlock,0",
		"load,x", "store,x,v"},
	"once": {"once |", "once |", "load,x", "store,x,v", "lock,m | unlock,m", "leave"},
	"atomics": {"load,x", "store,x,v", "addto,x,v", "swap,x,v", "cas,x,v,v", "and,x,v", "or,x,v", "point",
		"keep,x,v", "drop,x"},
	"contexts": {"cancel", "done", "err", "send,c", "recv,c", "select,t", "select,t"},
	"everything": {"send,c", "recv,c", "close,c", "select,s", "select,t", "lock,m | unlock,m",
		"rlock | runlock", "wlock | wunlock",
		"add,1", "add,-1", "wait", "lock,0 condwait unlock,0", "signal", "once |", "load,x", "addto,x,v",
		"cas,x,v,v", "keep,x,v",
		"cancel", "err", "yield", "die", "leave", "trylock,m | unlock,m", "tryrlock | runlock"},
}

var flavourNames = []string{"channels", "mutexes", "rwmutexes", "waitgroups", "reuse", "conditions", "once",
	"atomics", "contexts", "misuses", "everything"}

// sample is a random program.
type sample struct {
	capacities []int
	bodies     [][]*node
}

// generator draws programs; the same number gives the same one.
type generator struct {
	*rand.Rand
	blocks []string
}

func drawProgram(flavour string, number uint64) *sample {
	g := generator{rand.New(rand.NewPCG(number, 1)), flavours[flavour]}
	p := &sample{capacities: []int{g.IntN(2) * g.IntN(3), g.IntN(2)}, bodies: make([][]*node, 2+g.IntN(3))}
	size := []int{0, 0, 3, 2, 1}[len(p.bodies)] + g.IntN(2)
	for i := range p.bodies {
		for range size {
			p.bodies[i] = append(p.bodies[i], g.block(1)...)
		}
	}
	start := "go"
	if strings.Contains("waitgroups reuse", flavour) && g.IntN(2) == 0 {
		start = "wggo"
	}
	for i := 1; i < len(p.bodies); i++ {
		at := g.IntN(1 + min(1, len(p.bodies[0])))
		p.bodies[0] = append(p.bodies[0][:at:at],
			append([]*node{{name: start, args: []int{i}}}, p.bodies[0][at:]...)...)
	}
	return p
}

func (g *generator) block(depth int) (list []*node) {
	before, after, nests := strings.Cut(g.blocks[g.IntN(len(g.blocks))], "|")
	mutex := g.IntN(2)
	for _, text := range strings.Fields(before) {
		list = append(list, g.node(text, mutex))
	}
	if !nests {
		return list
	}
	var inside []*node
	if depth > 0 && g.IntN(2) == 0 {
		inside = g.block(depth - 1)
	}
	for _, text := range strings.Fields(after) {
		inside = append(inside, g.node(text, mutex))
	}
	if last := list[len(list)-1]; last.skips() {
		last.body = inside
		return list
	}
	return append(list, inside...)
}

func (n *node) skips() bool { return n.name == "once" || strings.HasPrefix(n.name, "try") }

// node fills in the letters of an instruction.
func (g *generator) node(text string, mutex int) *node {
	fields := strings.Split(text, ",")
	n := &node{name: fields[0]}
	for _, field := range fields[1:] {
		switch field {
		case "c":
			n.args = append(n.args, []int{0, 0, 0, 1, 1, 1, 2}[g.IntN(7)])
		case "m":
			n.args = append(n.args, mutex)
		case "x":
			n.args = append(n.args, g.IntN(2))
		case "v":
			n.args = append(n.args, 1+g.IntN(3))
		case "s":
			forms := [][]int{{0, 0, 0, 0, 1}, {1, 0, 0, 0, 1}, {0, 1, 0, 0, 1}, {1, 1, 1, 0, 0},
				{0, 1, 0, 1, 1}, {1, 1, 0, 1, 1}, {1, 0, 0, 3, 0}, {1, 1, 1, 3, 0}, {0, 1, 1, 0, 1}}
			n.args = forms[g.IntN(len(forms))]
		case "t":
			forms := [][]int{{0, 0, 0, 2, 0}, {0, 1, 0, 2, 0}, {1, 1, 1, 2, 0}, {0, 1, 1, 2, 0}}
			n.args = forms[g.IntN(len(forms))]
		default:
			v, err := strconv.Atoi(field)
			if err != nil {
				panic(err)
			}
			n.args = append(n.args, v)
		}
	}
	return n
}

// String is the program as testdata/programs takes it.
func (p *sample) String() string {
	var b strings.Builder
	b.WriteString(strings.Trim(strings.ReplaceAll(fmt.Sprint(p.capacities), " ", ","), "[]"))
	for _, body := range p.bodies {
		b.WriteString("/")
		writeBody(&b, body)
	}
	return b.String()
}

func writeBody(b *strings.Builder, body []*node) {
	for _, n := range body {
		args := n.args
		if n.skips() {
			args = append(args[:len(args):len(args)], countNodes(n.body))
		}
		b.WriteString(n.name)
		for _, a := range args {
			fmt.Fprintf(b, ",%d", a)
		}
		b.WriteString(" ")
		writeBody(b, n.body)
	}
}

func countNodes(body []*node) (n int) {
	for _, x := range body {
		n += 1 + countNodes(x.body)
	}
	return n
}

// errTooMany tells that a program has too many schedules to compare it.
var errTooMany = fmt.Errorf("too many executions")

// searchProgram returns the outcomes that a search finds, in the words of the machine.
func searchProgram(p *sut.Program, text string, s *explore.Search, limit int) (map[string]bool, error) {
	seen, executions := map[string]bool{}, 0
	ended, err := eachExecution(p, sut.Options{Args: []string{text}}, s,
		func(log *sut.Log, x explore.Execution) bool {
			if x.Outcome != explore.Redundant {
				seen[outcomeOf(log)] = true
			}
			executions++
			return executions <= limit
		})
	if err == nil && !ended {
		err = errTooMany
	}
	return seen, err
}

func outcomeOf(log *sut.Log) string {
	observed := map[string]string{}
	for line := range bytes.Lines(log.Stdout) {
		who, what, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		observed[who] += "[" + what + "]"
	}
	message, _, _ := strings.Cut(string(log.Stderr), "\n")
	message, _, _ = strings.Cut(message, " [recovered")
	outcome := log.Outcome.String()
	switch {
	case log.Outcome == sut.Fatal:
		return message
	case log.Outcome == sut.Panicked && strings.Contains(message, "WaitGroup"):
		return "panicked: " + strings.TrimPrefix(message, "panic: ")
	}
	for who := range 10 {
		what := observed[strconv.Itoa(who)]
		switch {
		case log.Outcome == sut.Panicked && strings.Contains(what, "[panic:"):
			return fmt.Sprintf("panicked %d:%s", who, what)
		case what != "":
			outcome += fmt.Sprintf(" %d:%s", who, what)
		}
	}
	return outcome
}

// Limits of what is compared.
const (
	maxStates    = 20_000
	maxReduced   = 2000 // executions
	maxSchedules = 1000
)

// disagreement compares what the reduced search finds with the twin, and, if the program is small,
// what the search of all schedules finds.
func disagreement(p *sut.Program, text string, exhaustive bool) (string, error) {
	want, all := bruteForce(text, maxStates)
	if !all {
		return "", errTooMany
	}
	got, err := searchProgram(p, text, dporSearch(), maxReduced)
	if err != nil {
		return "", err
	}
	if want["panicked: "+negative] && got["panicked: "+negative] {
		return compareAll(p, text, want) // once one is found, the reduction may miss other outcomes
	}
	if want["panicked: "+reused] {
		return compareAll(p, text, want) // who has begun to wait is unknown to the reduction
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return "reduced search (-exist +found):\n" + diff, nil
	}
	if !exhaustive {
		return "", nil
	}
	return compareAll(p, text, want)
}

// compareAll is disagreement with the search of all schedules, if there are not too many.
func compareAll(p *sut.Program, text string, want map[string]bool) (string, error) {
	got, err := searchProgram(p, text, dfsSearch(), maxSchedules)
	if err == errTooMany {
		return "", nil
	}
	return cmp.Diff(want, got), err
}

const (
	negative = "sync: negative WaitGroup counter"
	reused   = "sync: WaitGroup is reused before previous Wait has returned"
)

// smallest returns a smaller program about which they disagree as well.
func smallest(p *sut.Program, s *sample) *sample {
	for again := true; again; {
		again = false
		for _, smaller := range s.smaller() {
			if diff, err := disagreement(p, smaller.String(), false); err == nil && diff != "" {
				s, again = smaller, true
				break
			}
		}
	}
	return s
}

// smaller are the programs with one instruction less.
func (p *sample) smaller() (list []*sample) {
	for i, body := range p.bodies {
		for _, less := range without(body) {
			c := &sample{p.capacities, append([][]*node(nil), p.bodies...)}
			c.bodies[i] = less
			list = append(list, c)
		}
	}
	return list
}

func without(body []*node) (list [][]*node) {
	for i, n := range body {
		list = append(list, append(body[:i:i], body[i+1:]...))
		for _, inside := range without(n.body) {
			c := append([]*node(nil), body...)
			c[i] = &node{n.name, n.args, inside}
			list = append(list, c)
		}
	}
	return list
}

// TestProgramsAgainstTwin compares the outcomes of random programs of real Go with those that an
// abstract machine finds by brute force. PROGRAMS says how many.
func TestProgramsAgainstTwin(t *testing.T) {
	p, err := buildProgram("testdata/programs", filepath.Join(tree, "programs"))
	if err != nil {
		t.Fatal(err)
	}
	programs := 100
	if text := os.Getenv("PROGRAMS"); text != "" {
		if programs, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for i, flavour := range flavourNames {
		t.Run(flavour, func(t *testing.T) {
			skipped, wrong := 0, 0
			total := programs/len(flavourNames) + min(1, i)
			for number := range uint64(total) {
				s := drawProgram(flavour, number)
				diff, err := disagreement(p, s.String(), number%8 == 0)
				switch {
				case err == errTooMany:
					skipped++
				case err != nil:
					t.Errorf("program %d: %v\n%s", number, err, s)
				case diff != "":
					s = smallest(p, s)
					diff, _ = disagreement(p, s.String(), false)
					t.Errorf("program %d: %s\n%s", number, s, diff)
					if wrong++; wrong == 5 {
						t.Fatal("and so on")
					}
				}
			}
			if t.Logf("%d programs, %d of them too large", total, skipped); skipped*4 > total {
				t.Errorf("%d of %d programs are too large to be compared", skipped, total)
			}
		})
	}
}

// TestProgramsThatWereWrong: each of these lost an outcome once, or had one too many.
func TestProgramsThatWereWrong(t *testing.T) {
	p, err := buildProgram("testdata/programs", filepath.Join(tree, "programs"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		// To send on a closed channel depends on who waits to receive: before the close, it would
		// have met a receiver.
		"0,0/go,3 go,1 go,2 /close,1 /send,1 /select,0,1,1,0,1 ",
		"0,0/go,1 go,2 send,1 /recv,1 /close,1 ",
		"0,0/go,3 go,2 go,1 /recv,0 /close,0 /send,0 ",
		"0,0/go,3 go,2 recv,0 //recv,0 send,0 /select,1,0,0,3,0 close,0 ",
		"1,0/go,2 go,1 close,1 /recv,1 /send,1 ",
	} {
		if diff, err := disagreement(p, text, true); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
}
