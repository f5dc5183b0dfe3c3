package compare

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/testkit/golden"
)

// TestComparisonHTML: the page has the table and the picture. What came from peers is text in it.
func TestComparisonHTML(t *testing.T) {
	c := fourWays()
	var text bytes.Buffer
	if err := WriteHTML(&text, c); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "comparison.html", text.String())
	const markup = "</pre></svg><script>x</script><img src=x>"
	c.Package, c.Rows[0].Strategy, c.Rows[3].Reason = markup, markup, markup
	text.Reset()
	if err := WriteHTML(&text, c); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "<img"} {
		if strings.Contains(text.String(), bad) {
			t.Errorf("the page has %s:\n%s", bad, &text)
		}
	}
	if n := strings.Count(text.String(), "</svg>"); n != 1 {
		t.Errorf("the picture ends %d times", n)
	}
}
