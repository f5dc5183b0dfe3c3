package ckptd

import (
	"strings"
	"testing"
)

func TestMemoryMerecatGoesBack(t *testing.T) {
	const cycles = 30
	c := spawn(t, Options{Backend: BackendMemory})
	g := start(t, c, merecat())
	ctx := testContext(t)
	talk := &conversation{t: t, group: g, id: 1}
	talk.obtain()
	if err := g.Proxy().Connect(ctx, 1, merecatAddress); err != nil {
		t.Fatal(err)
	}
	talk.listen()
	if first := talk.ask(get("/a.txt")); !strings.HasSuffix(first, "\r\n\r\nalpha\n") {
		t.Fatalf("GET /a.txt: %q", first)
	}
	half, rest := get("/b.txt")[:20], get("/b.txt")[20:]
	if early := talk.ask(half); early != "" {
		t.Fatalf("half of a request is answered: %q", early)
	}
	image, err := g.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := withoutDate(talk.ask(rest))
	if !strings.HasSuffix(want, "\r\n\r\nbeta\n") {
		t.Fatalf("GET /b.txt: %q", want)
	}
	for cycle := range cycles {
		if err := g.Restore(ctx, image.ID); err != nil {
			t.Fatal(err)
		}
		talk.obtain()
		if got := withoutDate(talk.ask(rest)); got != want {
			t.Fatalf("cycle %d: %q, before: %q", cycle, got, want)
		}
	}
}
