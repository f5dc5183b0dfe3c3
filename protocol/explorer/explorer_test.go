package explorer

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/protocol"
)

// echo answers each message but an answer.
type echo struct{ Heard int }

func (e *echo) Receive(env *protocol.Env, from protocol.ID, message any) {
	if e.Heard++; message == "<ping>" {
		env.Send(from, "pong")
	}
}

func (e *echo) Start(env *protocol.Env) {
	if env.ID() == 0 {
		env.Send(1, "<ping>")
	}
}

func model() *protocol.Model {
	return &protocol.Model{Nodes: []protocol.Node{&echo{}, &echo{}}, Names: []string{"A", "B"},
		Properties: []protocol.Property{protocol.Assertion("A hears nothing",
			func(id protocol.ID, n protocol.Node) bool { return id != 0 || n.(*echo).Heard == 0 })}}
}

// get is a page, and its code.
func get(t *testing.T, url string) (text string, code int) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data), r.StatusCode
}

var firstLink = regexp.MustCompile(`<li><a href="(\?run=[0-9a-z.]+)">`)

// TestWalk: the first link of each page leads on until the run ends, and each page says where it
// is.
func TestWalk(t *testing.T) {
	server := httptest.NewServer(Handler(model()))
	defer server.Close()
	link := ""
	for i, want := range [][]string{
		{"How it may begin", "A: echo{Heard:0}"},
		{"What may happen next", "&#34;\\u003cping&gt;&#34;, from A to B",
			"B: &#34;\\u003cping&gt;&#34;, from A</a>"},
		{"B: echo{Heard:1}", "pong", "run <code>0.0</code>", "one step back"},
		{"violated: A hears nothing", "Nothing: the run has ended.", "None."},
	} {
		text, code := get(t, server.URL+"/"+link)
		for _, w := range want {
			w = strings.ReplaceAll(w, "\\u003c", "&lt;")
			if code != http.StatusOK || !strings.Contains(text, w) {
				t.Fatalf("page %d, code %d, has no %q:\n%s", i, code, w, text)
			}
		}
		match := firstLink.FindStringSubmatch(text)
		if (match == nil) != (i == 3) {
			t.Fatalf("page %d has the link %q", i, match)
		}
		if match != nil {
			link = match[1]
		}
	}
	if text, code := get(t, server.URL+"/?run=0.z"); code != http.StatusNotFound ||
		!strings.Contains(text, "has no part 1 in this model") {
		t.Errorf("code %d: %s", code, text)
	}
}

func TestServe(t *testing.T) {
	if err := Serve("256.0.0.1:http", model(), nil); err == nil || !strings.Contains(err.Error(),
		"choose another") {
		t.Errorf("error %v", err)
	}
	url := make(chan string)
	go func() { _ = Serve("localhost:0", model(), func(u string) { url <- u }) }()
	if text, code := get(t, <-url); code != http.StatusOK || !strings.Contains(text, "How it may begin") {
		t.Errorf("code %d: %s", code, text)
	}
}
