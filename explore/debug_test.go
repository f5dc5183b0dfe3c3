package explore

import (
	"fmt"
	"os"
	"testing"
)

func describe(p *program, e Execution) string {
	pcs := map[GoroutineID]int{}
	names := map[GoroutineID]string{1: "main", 0: "clock"}
	body := map[GoroutineID]int{1: 0}
	kids := map[GoroutineID]int{}
	_ = pcs
	s := ""
	for _, t := range e.Transitions {
		for _, id := range t.Starts {
			_ = id
		}
		s += fmt.Sprintf(" %x.%d", uint64(t.Goroutine)&0xfff, t.Choice)
		for _, a := range t.Accesses {
			s += fmt.Sprintf("(%s %d d%d r%d)", p.objects[a.Object-1], a.Kind, a.Delta, a.Ready)
		}
	}
	for _, q := range e.Pending {
		s += fmt.Sprintf(" | %x %v %v", uint64(q.Goroutine)&0xfff, q.Access, q.Enabled)
	}
	_, _, _ = names, body, kids
	return s + " " + e.Outcome.String()
}

func TestDebug(t *testing.T) {
	text := os.Getenv("PROGRAM")
	if text == "" {
		t.Skip()
	}
	p := parseProgram(text)
	all := map[uint64]bool{}
	fmt.Println("DPOR")
	s := DPOR()
	for {
		sc, ok := s.Next()
		if !ok {
			break
		}
		e, _ := run(p, sc, 0)
		fmt.Println(len(sc.Prefix), describe(p, e))
		if err := s.Report(e); err != nil {
			t.Fatal(err)
		}
		if e.Outcome != Redundant {
			all[Fingerprint(e)] = true
		}
	}
	fmt.Println("missing")
	s = DFS()
	for {
		sc, ok := s.Next()
		if !ok {
			break
		}
		e, _ := run(p, sc, 0)
		s.Report(e)
		if f := Fingerprint(e); !all[f] {
			all[f] = true
			fmt.Println(describe(p, e))
		}
	}
}
