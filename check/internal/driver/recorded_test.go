package driver

import (
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
)

// TestRecorded: recorded peers answer as they did, in the same order, and refuse whatever differs.
func TestRecorded(t *testing.T) {
	connect := model.Input{Kind: model.Connect, Addr: "127.0.0.1:80", Conn: 3}
	send := model.Input{Kind: model.Send, Conn: 0, Data: []byte("GET /")}
	answer := model.Answer{Reaction: model.Reaction{Deliveries: []model.Delivery{{Data: []byte("page")}}}}
	p := NewRecorded([]Exchange{{Input: connect}, {Input: send, Answer: answer}})

	renumbered := connect
	renumbered.Conn = 0 // a connection that is made has no number yet
	if _, err := p.Exchange(renumbered); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(in *model.Input){
		"kind":       func(in *model.Input) { in.Kind = model.Close },
		"bytes":      func(in *model.Input) { in.Data = []byte("PUT /") },
		"connection": func(in *model.Input) { in.Conn = 1 },
		"behaviour":  func(in *model.Input) { in.Behaviour = 1 },
	} {
		other := send
		change(&other)
		if _, err := p.Exchange(other); err == nil || !strings.Contains(err.Error(), "input 2 ") {
			t.Errorf("another %s: %v, want an error that names input 2", name, err)
		}
	}
	got, err := p.Exchange(send)
	if err != nil || len(got.Deliveries) != 1 || string(got.Deliveries[0].Data) != "page" {
		t.Fatalf("%v, %v, want the recorded answer", got, err)
	}
	if _, err := p.Exchange(send); err == nil || !strings.Contains(err.Error(), "more than the 2 ") {
		t.Errorf("a third input: %v, want an error that says there were 2", err)
	}
	if n := len(p.Given()); n != 2 {
		t.Errorf("%d exchanges were given, want 2", n)
	}
}
