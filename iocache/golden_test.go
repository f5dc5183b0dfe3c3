package iocache

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/internal/invariant"
	"github.com/tandem-mc/tandem/internal/model"
)

var update = flag.Bool("update", false, "rewrite the golden scripts with the output of this run")

// TestGolden runs every script in testdata. A script is a dialogue: a line that
// begins with "> " is a command, the lines up to the next one are its output.
// Comments begin with "#". The commands are those of script.run.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.script")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in testdata (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".script"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("output differs (-want +got); to accept it, run go test -update\n%s", diff)
			}
		})
	}
}

// play returns the script with the output of its commands as it is now.
func play(t *testing.T, text string) string {
	s := &script{cache: New(Limits{})}
	var out strings.Builder
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		command, isCommand := strings.CutPrefix(line, "> ")
		switch {
		case isCommand:
			fmt.Fprintf(&out, "%s\n%s", line, s.try(t, command))
		case strings.HasPrefix(line, "#"), line == "":
			fmt.Fprintln(&out, line)
		}
	}
	return out.String()
}

// script is one dialogue: a cache and the cursor of its current execution.
type script struct {
	cache *Cache
	cur   NodeID
}

// try runs a command. A panic is an output too.
func (s *script) try(t *testing.T, command string) (out string) {
	defer func() {
		if v, ok := recover().(*invariant.Violation); ok {
			out = fmt.Sprintf("panic: %v\n", v.Rule)
		}
	}()
	return s.run(t, command)
}

func (s *script) run(t *testing.T, command string) string {
	word, args, _ := strings.Cut(command, " ")
	switch word {
	case "limits": // limits NODES BYTES: a new cache
		s.cache, s.cur = New(Limits{Nodes: number(t, args), Bytes: int64(number(t, second(args)))}), Root
		return ""
	case "again": // a fresh execution
		s.cur = Root
		return ""
	case "record": // record INPUT => REACTION: without asking Lookup
		in, reaction, _ := strings.Cut(args, " => ")
		return s.record(t, parseInput(t, in), reaction)
	case "tree":
		return s.cache.dump()
	case "stats": // the estimate of bytes differs between releases of Go
		st := s.cache.Stats()
		return fmt.Sprintf("%d hits, %d misses, %d nodes, %d "+
			"images\n", st.Hits, st.Misses, st.Nodes, st.Images)
	case "image": // image NODE NAME
		s.cache.SetImage(Position{NodeID(number(t, args))}, second(args), "criu")
		return ""
	case "drop":
		s.cache.DropImage(Position{NodeID(number(t, args))})
		return ""
	case "nearest":
		at, image, ok := s.cache.Nearest(Position{NodeID(number(t, args))})
		return fmt.Sprintf("%d %q %v\n", at, image, ok)
	case "path": // path FROM TO
		var b strings.Builder
		for _, step := range must(s.cache.Path(NodeID(number(t, args)), NodeID(number(t, second(args))))) {
			fmt.Fprintf(&b, "%v => %v, at %d\n", step.Input, step.Reaction, step.Node)
		}
		return b.String()
	case "replay": // replay NODE REACTION: the last step of the path to NODE
		steps := must(s.cache.Path(Root, NodeID(number(t, args))))
		if err := s.cache.Compare(steps[len(steps)-1], parseReaction(t, second(args))); err != nil {
			return fmt.Sprintf("error: %v\n", err)
		}
		return "equal\n"
	default: // INPUT [=> REACTION]
		return s.input(t, command)
	}
}

func (s *script) input(t *testing.T, command string) string {
	in, reaction, answered := strings.Cut(command, " => ")
	next, served, rest, hit, _ := s.cache.Lookup(s.cur, parseInput(t, in))
	s.cur = next
	if hit {
		return fmt.Sprintf("hit: %v, at %d\n", served, next)
	}
	out := fmt.Sprintf("miss at %d after %v: %v\n", next, served, rest)
	if answered {
		out += s.record(t, rest, reaction)
	}
	return out
}

func (s *script) record(t *testing.T, in Input, reaction string) string {
	next, err := s.cache.Record(s.cur, in, parseReaction(t, reaction))
	s.cur = next
	if err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	return fmt.Sprintf("recorded at %d\n", next)
}

// dump draws the tree, children in the order of their making.
func (c *Cache) dump() string {
	var b strings.Builder
	var draw func(n NodeID, indent int)
	draw = func(n NodeID, indent int) {
		d := &c.nodes[n]
		fmt.Fprintf(&b, "%s", strings.Repeat("  ", indent))
		if n == Root {
			b.WriteString("root")
		} else {
			fmt.Fprintf(&b, "%v", c.stepOf(n))
		}
		switch {
		case !d.answered:
			b.WriteString(" (branching point)\n")
		case d.unverified:
			fmt.Fprintf(&b, " => %v, at %d, unverified\n", must(c.reactionOf(n)), n)
		default:
			fmt.Fprintf(&b, " => %v, at %d\n", must(c.reactionOf(n)), n)
		}
		children := c.children(n)
		for i := len(children) - 1; i >= 0; i-- {
			draw(children[i], indent+1)
		}
	}
	draw(Root, 0)
	return b.String()
}

// parseInput reads what Input.String writes, for short data.
func parseInput(t *testing.T, text string) Input {
	t.Helper()
	word, args, _ := strings.Cut(text, " ")
	for kind := Connect; kind < model.Kinds; kind++ {
		if kind.String() != word {
			continue
		}
		in := Input{Kind: kind, Conn: number(t, args)}
		switch kind {
		case Connect, Listen:
			in.Addr = second(args)
		case Send:
			data, err := strconv.Unquote(second(args))
			if err != nil {
				t.Fatalf("data of %q: %v", text, err)
			}
			in.Data = []byte(data)
		}
		return in
	}
	t.Fatalf("unknown command %q", text)
	return Input{}
}

// parseReaction reads what Reaction.String writes, for short data.
func parseReaction(t *testing.T, text string) Reaction {
	t.Helper()
	var r Reaction
	for text = strings.TrimSpace(text); text != "" && text != "nothing"; text = strings.TrimSpace(text) {
		if after, ok := strings.CutPrefix(text, "refused(errno "); ok {
			code, rest, _ := strings.Cut(after, ")")
			r.Refused, text = number(t, code), rest
			continue
		}
		if after, ok := strings.CutPrefix(text, "opened(at "); ok {
			listener, rest, _ := strings.Cut(after, ")")
			r.Opened, text = append(r.Opened, number(t, listener)), rest
			continue
		}
		var e Ending
		if n, _ := fmt.Sscanf(text, "ended(peer %d, status %d)", &e.Peer, &e.Status); n == 2 {
			_, text, _ = strings.Cut(text, ")")
			r.Ended = append(r.Ended, e)
			continue
		}
		conn, rest, ok := strings.Cut(text, ":")
		if !ok {
			t.Fatalf("no delivery: %q", text)
		}
		d := Delivery{Conn: number(t, conn)}
		if quoted, err := strconv.QuotedPrefix(rest); err == nil {
			data, _ := strconv.Unquote(quoted)
			d.Data, rest = []byte(data), rest[len(quoted):]
		}
		end, rest, _ := strings.Cut(rest, " ")
		switch end {
		case "":
		case EOF.String():
			d.End = EOF
		case Reset.String():
			d.End = Reset
		default:
			t.Fatalf("unknown end %q", end)
		}
		r.Deliveries, text = append(r.Deliveries, d), rest
	}
	return r
}

func number(t *testing.T, args string) int {
	t.Helper()
	word, _, _ := strings.Cut(args, " ")
	n, err := strconv.Atoi(word)
	if err != nil {
		t.Fatalf("no number: %q", args)
	}
	return n
}

func second(args string) string {
	_, rest, _ := strings.Cut(args, " ")
	return rest
}
